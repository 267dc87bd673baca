import { defineAgent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { expect, test } from "vitest";
import { z } from "zod";
import { start } from "./servers.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts.",
  memorySchema: z.object({ count: z.number() }).default({ count: 0 }),
  operations: (operation) => ({
    add: operation({
      input: z.object({ by: z.number() }),
      run: ({ by }, turn) => turn.memory.set({ count: turn.memory.get().count + by }),
    }),
    confirm: operation({
      input: z.object({}),
      run: (_input, turn) => turn.waitForInput({ ok: "Is it right?" }),
    }),
    count: operation({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get().count }),
  }),
});

test("a client and an agent of another server read an actor beside its turn that waits", async () => {
  await using there = await start({ agents: [counter] });
  const client = createClient(there.url);
  const actor = client.agent<typeof counter>("counter").actor("one");
  expect(await actor.call("count", {})).toBe(0);
  await actor.call("add", { by: 3 });
  await expect(actor.call("confirm", {})).rejects.toMatchObject({ code: "waiting" });
  const call = actor.call("count", {});
  expect(await call).toBe(3);
  const { runs } = await client.runs();
  expect(runs).toMatchObject([{ run_id: await call.runId, status: "waiting", turns: 2 }]);
  expect((await client.agent("counter").describe()).operations).toMatchObject([
    { name: "chat" },
    { name: "add" },
    { name: "confirm" },
    { name: "count", read: true },
  ]);

  const far = remoteAgent(`${there.url}/counter`);
  const caller = defineAgent({
    name: "caller",
    purpose: "Reads the counter.",
    chat: async (_input, turn) => String(await turn.ask(turn.actor(far, "one"), "count", {})),
  });
  await using here = await start({ agents: [caller, far] });
  expect(await createClient(here.url).agent("caller").chat("")).toBe("3");
});

test("the answer to a read is its end, for every wait, and it is in no log", async () => {
  await using there = await start({ agents: [counter] });
  const body = { type: "OperationRequest", operation: "count", input: {}, key: "two", request_id: "read" };
  for (const query of ["", "?wait=true", "?wait=completed"]) {
    const answer = await fetch(`${there.url}/counter/process${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      type: "RequestCompleted",
      id: 0,
      request_id: "read",
      run_id: null,
      finish_reason: "success",
      output: 0,
    });
  }
  expect((await fetch(`${there.url}/request/read`)).status).toBe(404);
  const streamed = await fetch(`${there.url}/counter/stream_request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(await streamed.text()).toContain('"type":"RequestCompleted"');
});
