import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { createMetrics, replyWithStream } from "troupe/http";
import type { Adapter, StreamFormat, StreamOptions } from "troupe/http";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { RawClient } from "./raw-client.ts";

/** Says some words, then waits for an answer. */
const asker = defineAgent({
  name: "asker",
  purpose: "Asks.",
  async chat(input, turn) {
    for (const word of input.split(" ")) await turn.text(word);
    await turn.waitForInput({ more: "More?" });
    return "done";
  },
});

interface Said {
  readonly type: string;
  readonly content?: string;
}

/** A format with a number of its own on each frame, without any text of the native format. */
function counted(endless: boolean): StreamFormat {
  let count = 0;
  return {
    opening: "",
    endless,
    event: (text) => {
      const { type, content: word = "" } = JSON.parse(text) as Said;
      if (type === "RequestStarted") return "";
      if (word === "bad") throw new Error("the format has a fault");
      return `${(count += 1)} ${type} ${word}\n`;
    },
    heartbeat: (cursor) => `beat ${cursor}\n`,
    end: (leaving) => `${count} frames, ${leaving ? "more to come" : "all"}\n`,
  };
}

/** GET /counted/{request} streams the events of a request; `?forever` beyond its waits, `?endless` for all time. */
const wire: Adapter = {
  name: "counted",
  roots: ["counted"],
  owns: (path) => path.startsWith("/counted/"),
  toRefusal: ({ message }) => ({ body: JSON.stringify(message) }),
  addRoutes(app, host, { agent }) {
    if (agent !== undefined) return;
    app.get("/counted/:id", (c) => {
      const id = c.req.param("id");
      return replyWithStream(c, host, {
        id,
        open: async (signal) => {
          const address = await host.as(c).runtime.resolve(id);
          const forever = c.req.query("forever") !== undefined;
          const after = Number(c.req.query("after") ?? 0);
          const feed = await host.as(c).runtime.follow(address, { after, forever, signal });
          return { feed, after, format: counted(c.req.query("endless") !== undefined) };
        },
      });
    });
  },
};

async function start(streams: StreamOptions = {}): Promise<{
  readonly runtime: Runtime;
  readonly url: string;
  readonly faults: unknown[];
  close(): Promise<void>;
}> {
  const runtime = createRuntime({ agents: [asker] });
  const faults: unknown[] = [];
  const metrics = createMetrics({ log: (_, thrown) => faults.push(thrown) });
  const server = await serve(runtime, { adapters: [wire], streams, metrics, drain: false });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await runtime.close();
  });
  return { runtime, url: server.url, faults, close: () => server.close({ graceMs: 0 }) };
}

async function ask(runtime: Runtime, input: string): Promise<string> {
  const receipt = await runtime.process("asker", { type: "ChatRequest", input });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  return receipt.requestId;
}

test("each stream has a format of its own, and nothing else is sent", async () => {
  const { runtime, url } = await start();
  const id = await ask(runtime, "one two");
  const read = async (): Promise<string> => (await fetch(`${url}/counted/${id}`)).text();
  const expected = "1 TextOutput one\n2 TextOutput two\n3 WaitForInput \n3 frames, all\n";
  expect(await Promise.all([read(), read(), read()])).toEqual([expected, expected, expected]);
});

test("a stream without an opening sends its headers before the first event", async () => {
  const { runtime, url } = await start();
  const id = await ask(runtime, "one");
  await using client = new RawClient(url);
  client.send(`GET /counted/${id}?forever&after=3 HTTP/1.1`, "Host: localhost");
  await client.until(/HTTP\/1\.1 200 OK[^]*\r\n\r\n$/);
  await runtime.process("asker", {
    type: "ResumeWithInput",
    request_id: id,
    request_keys: { more: "" },
  });
  await client.until("RequestCompleted");
  expect(client.text).toContain("1 ResumeWithInput");
});

test("an endless stream outlives the maximum life, and its heartbeats have the format", async () => {
  const { runtime, url } = await start({ lifeMs: 40, heartbeatMs: 20 });
  const id = await ask(runtime, "one");
  const limited = await (await fetch(`${url}/counted/${id}?forever`)).text();
  expect(limited).toMatch(/2 frames, more to come\n$/);
  await using client = new RawClient(url);
  client.send(`GET /counted/${id}?forever&endless HTTP/1.1`, "Host: localhost");
  await client.until(/(beat 3[^]*){10}/);
  expect(client.text).not.toContain("frames");
});

test("a server that stops ends an endless stream as one with more to come", async () => {
  const { runtime, url, close } = await start();
  const id = await ask(runtime, "one");
  const answer = await fetch(`${url}/counted/${id}?forever&endless`);
  const text = answer.text();
  await close();
  expect(await text).toMatch(/WaitForInput \n2 frames, more to come\n$/);
});

test("a fault of a format ends its stream and is reported", async () => {
  const { runtime, url, faults } = await start();
  const id = await ask(runtime, "good bad");
  expect(await (await fetch(`${url}/counted/${id}`)).text()).toBe("1 frames, more to come\n");
  expect(String(faults[0])).toContain("the format has a fault");
  expect((await fetch(`${url}/asker/describe`)).status).toBe(200);
});
