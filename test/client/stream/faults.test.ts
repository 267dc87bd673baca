// Faults of connections cost a client only time.
import { createClient } from "troupe/client";
import type { Event } from "troupe/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { ticker } from "../../../agents/ticker.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { start } from "../servers.ts";
import type { Served } from "../servers.ts";
import { shortened } from "../../machine/long.ts";

let server: Served;
beforeAll(async () => {
  server = await start({ agents: [echo, payments, ticker] });
});
afterAll(() => server[Symbol.asyncDispose]());

const KINDS = ["reset", "end", "garbage"] as const;

test.each(shortened(KINDS, 1))(
  "a stream that is cut (%s) at any place gives each event once",
  async (kind) => {
    const check = async (afterBytes: number): Promise<void> => {
      await using proxy = await FaultProxy.start(server.url);
      // The first connection is for the request, the second for the stream.
      proxy.faults.push(undefined, { afterBytes, kind });
      const events = await all(createClient(proxy.url).agent("ticker").chat("5 1"));
      expect(
        events.map(({ id }) => id),
        `cut after ${afterBytes} bytes`,
      ).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
    };
    await Promise.all([0, 50, 220, 500, 900, 1_300].map(check));
  },
);

test("a silent stream is replaced by a new connection", async () => {
  await using proxy = await FaultProxy.start(server.url);
  const client = createClient(proxy.url, { limits: { idleMs: 200 } });
  proxy.faults.push(undefined, { afterBytes: 600, kind: "stall" });
  const events = await all(client.agent("ticker").chat("5 1"));
  expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a stream whose last bytes are lost ends normally", async () => {
  await using proxy = await FaultProxy.start(server.url);
  const call = createClient(server.url).agent("payments").chat("pay 3 to bob");
  const whole = await all(call);
  const run = createClient(proxy.url).run(await call.runId);
  proxy.reset();
  // Everything except the end of the chunked body is delivered.
  const response = await fetch(`${server.url}/getevents/${await call.runId}?stream=true&since=0`);
  const body = await response.text();
  proxy.faults.push({ afterBytes: headBytes(response) + body.length, kind: "reset" });
  expect(await all(run.events())).toEqual(whole);
});

test.each(shortened(KINDS, 1))("a request whose answer is lost (%s) is made once", async (kind) => {
  const places = [0, 10, 100, 300];
  const before = (await server.runtime.runs({ limit: 1_000 })).runs.length;
  const ask = async (afterBytes: number): Promise<void> => {
    await using proxy = await FaultProxy.start(server.url);
    proxy.faults.push({ afterBytes, kind });
    expect(await createClient(proxy.url).agent("echo").chat("hi")).toBe("hi");
  };
  await Promise.all(places.map(ask));
  expect((await server.runtime.runs({ limit: 1_000 })).runs).toHaveLength(before + places.length);
});

test("an answer to a wait whose reply is lost is given once", async () => {
  await using proxy = await FaultProxy.start(server.url);
  const call = createClient(proxy.url).agent("payments").chat("pay 3 to bob");
  await expect(call).rejects.toMatchObject({ code: "waiting" });
  proxy.faults.push({ afterBytes: 0, kind: "reset" });
  await call.waits[0]?.answer({ approved: true });
  expect(await call).toBe("Paid 3 to bob.");
});

test("a server that stays unreachable ends the stream with an error", { tags: "long" }, async () => {
  await using proxy = await FaultProxy.start(server.url);
  proxy.isDown = true;
  const client = createClient(proxy.url, { attempts: 2, limits: { unreachableMs: 300 } });
  await expect(client.agent("echo").describe()).rejects.toMatchObject({ code: "unavailable" });
  await expect(all(client.run("some").events())).rejects.toMatchObject({ code: "unavailable" });
  expect(proxy.connections).toBeGreaterThan(3);
});

test("an aborted wait for an answer ends at once, with the signal's reason", async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  const client = createClient(server.url);
  const call = client.agent("ticker").chat("2 60000", { signal: stop.signal });
  const waiting = all(call);
  await call.runId;
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await client.request(call.requestId).cancel();
});

function headBytes({ status, statusText, headers }: Response): number {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${statusText}\r\n${lines}\r\n`.length;
}

async function all(stream: AsyncIterable<Event>): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}
