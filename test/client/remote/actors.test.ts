// Actors on another server: asked and told by key, over the ordinary protocol.
import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import { remoteAgent } from "troupe/client";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { findFreePort } from "../../machine/free-port.ts";
import { start } from "../servers.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts.",
  operations: (own) => ({
    add: own({
      input: z.object({}),
      run(_input, turn): number {
        const count = ((turn.memory.get() ?? 0) as number) + 1;
        turn.memory.set(count);
        return count;
      },
    }),
  }),
});

function asker(far: typeof counter): Agent {
  return defineAgent({
    name: "asker",
    purpose: "Asks and tells an actor of another server.",
    tools: [far],
    async chat(_input, turn) {
      const actor = turn.actor(far, "shared");
      await turn.tell(actor, "add", {});
      return String(await turn.ask(actor, "add", {}));
    },
  });
}

test("an actor of a server that starts later is asked as soon as it has started", async () => {
  const port = await findFreePort();
  const remote = remoteAgent<typeof counter>(`http://127.0.0.1:${port}/counter`);
  await using near = await start({ agents: [asker(remote)] });
  const chat = { type: "ChatRequest", input: "go" } as const;
  expect((await collect(near.runtime, "asker", chat)).at(-1)).toMatchObject({ finish_reason: "error" });
  await using far = await start({ agents: [counter] }, { port });
  expect((await collect(near.runtime, "asker", chat)).at(-1)).toMatchObject({ result: "2" });
  expect((await far.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});

test("an actor of another server is asked and told by its key", async () => {
  await using far = await start({ agents: [counter] });
  const remote = remoteAgent<typeof counter>(`${far.url}/counter`);
  await using near = await start({ agents: [asker(remote)] });
  const chat = { type: "ChatRequest", input: "go" } as const;
  expect((await collect(near.runtime, "asker", chat)).at(-1)).toMatchObject({ result: "2" });
  const events = await collect(near.runtime, "asker", chat);
  expect(events.at(-1)).toMatchObject({ result: "4" });
  const calls = ofType(events, "ToolCall").map(({ mode, callee }) => ({ mode, callee }));
  const callee = { kind: "remote", name: "counter", key: "shared" };
  expect(calls).toEqual([
    { mode: "tell", callee },
    { mode: "ask", callee },
  ]);
  const { runs } = await far.runtime.runs({ limit: 10 });
  expect(runs).toMatchObject([{ key: "shared", turns: 4 }]);
  const page = await far.runtime.read(await far.runtime.resolve(runs[0]?.run_id ?? ""), { after: 0 });
  const started = ofType(
    page.events.map((text) => JSON.parse(text) as never),
    "RequestStarted",
  );
  expect(started[0]).toMatchObject({ sender: { run_id: expect.stringMatching(/^run_/) as string } });
});

test("a server that does not know keys is unavailable for asks by key", async () => {
  await using far = await start({ agents: [counter] });
  const remote = remoteAgent<typeof counter>(`${far.url}/counter`, {
    async fetch(url, init) {
      const response = await fetch(url, init);
      if (!(url instanceof Request ? url.url : url.toString()).includes("/describe")) return response;
      const { keys: _, ...description } = (await response.json()) as { readonly keys?: boolean };
      return Response.json(description);
    },
  });
  await using near = await start({ agents: [asker(remote)] });
  const events = await collect(near.runtime, "asker", { type: "ChatRequest", input: "go" });
  expect(ofType(events, "ToolError")).toMatchObject([{ code: "unavailable" }]);
  expect((await far.runtime.runs({ limit: 10 })).runs).toEqual([]);
});
