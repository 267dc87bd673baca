import { defineAgent } from "troupe";
import type { OnBusy, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType, textsOf } from "../../agents/events.ts";
import { World } from "../world.ts";

/** Takes a second to repeat its input. */
const slow = defineAgent({
  name: "slow",
  purpose: "Takes a second.",
  async chat(input, turn) {
    await turn.sleep(1_000);
    await turn.text(input);
  },
});

const asker = defineAgent({
  name: "asker",
  purpose: "Asks.",
  async chat(input, turn) {
    if (input === "ask") await turn.waitForInput({ on: "Shall I go on?" });
    await turn.text(input);
  },
});

function say(runId: string | null, input: string, onBusy?: OnBusy, requestId = `req-${input}`) {
  return {
    type: "ChatRequest",
    input,
    run_id: runId as RunId,
    request_id: requestId as RequestId,
    ...(onBusy && { on_busy: onBusy }),
  } as const;
}

test("the requests of a run are answered one after the other, in the order of their arrival", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "1" });
  for (const input of ["2", "3", "4"]) await world.ask("slow", say(runId, input));
  await world.environment.advance(4_000);

  const events = await world.events(runId ?? "");
  expect(textsOf(events)).toEqual(["1", "2", "3", "4"]);
  expect(events.map(({ type }) => type)).toEqual(
    Array.from({ length: 4 }, () => ["RequestStarted", "TextOutput", "RequestCompleted"]).flat(),
  );
});

test("eight requests can be queued in a run; the next one is refused and leaves no trace", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "0" });
  for (let n = 1; n <= 8; n += 1) await world.ask("slow", say(runId, String(n)));

  await expect(world.ask("slow", say(runId, "9"))).rejects.toMatchObject({
    code: "overloaded",
    details: { retryAfterS: 1 },
  });
  await expect(world.runtime.status("req-9")).rejects.toMatchObject({ code: "not_found" });
  await world.environment.advance(9_000);
  expect(textsOf(await world.events(runId ?? ""))).toHaveLength(9);
});

test("a request with on_busy reject is refused by a busy run and accepted by an idle one", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "1" });
  await expect(world.ask("slow", say(runId, "2", "reject"))).rejects.toMatchObject({ code: "conflict" });
  await world.environment.advance(1_000);
  await expect(world.ask("slow", say(runId, "2", "reject"))).resolves.toMatchObject({ replayed: false });
});

test("a request that interrupts cancels the turn and runs before the queued ones", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "1" });
  await world.ask("slow", say(runId, "2"));
  await world.ask("slow", say(runId, "3", "interrupt"));
  await world.environment.advance(3_000);

  const events = await world.events(runId ?? "");
  expect(textsOf(events)).toEqual(["3", "2"]);
  expect(ofType(events, "RequestCompleted").map(({ finish_reason: reason }) => reason)).toEqual([
    "canceled",
    "success",
    "success",
  ]);
});

test("a request can be queued behind a waiting turn, and interrupt it", async () => {
  const world = new World({ agents: [asker] });
  const { runId, requestId } = await world.ask("asker", { type: "ChatRequest", input: "ask" });
  await world.ask("asker", say(runId, "queued", "enqueue"));
  expect((await world.runtime.status("req-queued")).status).toBe("queued");
  expect((await world.runtime.status(requestId)).status).toBe("waiting");

  await world.restart();
  await world.ask("asker", say(runId, "urgent", "interrupt"));
  expect(textsOf(await world.events(runId ?? ""))).toEqual(["urgent", "queued"]);
});

test("requests that were queued when the process died are answered in order", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "1" });
  for (const input of ["2", "3"]) await world.ask("slow", say(runId, input));
  await world.restart();
  await world.environment.advance(3_000);
  expect(textsOf(await world.events(runId ?? ""))).toEqual(["1", "2", "3"]);
});

test("a request that arrives before the queued ones are recovered runs after them", async () => {
  const world = new World({ agents: [slow] });
  const { runId } = await world.ask("slow", { type: "ChatRequest", input: "1" });
  await world.ask("slow", say(runId, "2"));
  // The end of the first turn is written, the start of the second is not.
  world.plan({ kind: "failure", written: false });
  await world.environment.advance(1_000);
  world.repair();
  const late = world.ask("slow", say(runId, "3"));
  await world.environment.advance(10_000);
  await late;
  expect(textsOf(await world.events(runId ?? ""))).toEqual(["1", "2", "3"]);
});

test("two runs do not wait for each other", async () => {
  const world = new World({ agents: [slow] });
  const receipts = [];
  for (const input of ["a", "b", "c"]) receipts.push(await world.ask("slow", { type: "ChatRequest", input }));
  await world.environment.advance(1_000);
  for (const { requestId } of receipts) {
    expect((await world.runtime.status(requestId)).status).toBe("completed");
  }
});
