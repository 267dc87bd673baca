import { defineAgent } from "troupe";
import type { OnBusy, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

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
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  for (const input of ["2", "3", "4"]) await host.ask("slow", say(runId, input));
  await host.environment.advance(4_000);

  const events = await host.events(runId ?? "");
  expect(textsOf(events)).toEqual(["1", "2", "3", "4"]);
  expect(events.map(({ type }) => type)).toEqual(
    Array.from({ length: 4 }, () => ["RequestStarted", "Sleeping", "TextOutput", "RequestCompleted"]).flat(),
  );
});

test("eight requests can be queued in a run; the next one is refused and leaves no trace", async () => {
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "0" });
  for (let n = 1; n <= 8; n += 1) await host.ask("slow", say(runId, String(n)));

  await expect(host.ask("slow", say(runId, "9"))).rejects.toMatchObject({
    code: "overloaded",
    details: { retryAfterS: 1 },
  });
  await expect(host.runtime.status("req-9")).rejects.toMatchObject({ code: "not_found" });
  await host.environment.advance(9_000);
  expect(textsOf(await host.events(runId ?? ""))).toHaveLength(9);
});

test("a request with on_busy reject is refused by a busy run and accepted by an idle one", async () => {
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  await expect(host.ask("slow", say(runId, "2", "reject"))).rejects.toMatchObject({ code: "conflict" });
  await host.environment.advance(1_000);
  await expect(host.ask("slow", say(runId, "2", "reject"))).resolves.toMatchObject({ replayed: false });
});

test("a request that interrupts cancels the turn and runs before the queued ones", async () => {
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  await host.ask("slow", say(runId, "2"));
  await host.ask("slow", say(runId, "3", "interrupt"));
  await host.environment.advance(3_000);

  const events = await host.events(runId ?? "");
  expect(textsOf(events)).toEqual(["3", "2"]);
  expect(ofType(events, "RequestCompleted").map(({ finish_reason: reason }) => reason)).toEqual([
    "canceled",
    "success",
    "success",
  ]);
});

test("a request can be queued behind a waiting turn, and interrupt it", async () => {
  const host = new TestHost({ agents: [asker] });
  const { runId, requestId } = await host.ask("asker", { type: "ChatRequest", input: "ask" });
  await host.ask("asker", say(runId, "queued", "enqueue"));
  expect((await host.runtime.status("req-queued")).status).toBe("queued");
  expect((await host.runtime.status(requestId)).status).toBe("waiting");

  await host.restart();
  await host.ask("asker", say(runId, "urgent", "interrupt"));
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["urgent", "queued"]);
});

test("requests that were queued when the process died are answered in order", async () => {
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  for (const input of ["2", "3"]) await host.ask("slow", say(runId, input));
  await host.restart();
  await host.environment.advance(3_000);
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["1", "2", "3"]);
});

test("a request that arrives before the queued ones are recovered runs after them", async () => {
  const host = new TestHost({ agents: [slow] });
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  await host.ask("slow", say(runId, "2"));
  // The end of the first turn is written, the start of the second is not.
  host.planFault({ kind: "failure", written: false });
  await host.environment.advance(1_000);
  host.repair();
  const late = host.ask("slow", say(runId, "3"));
  await host.environment.advance(10_000);
  await late;
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["1", "2", "3"]);
});

test("two runs do not wait for each other", async () => {
  const host = new TestHost({ agents: [slow] });
  const receipts = [];
  for (const input of ["a", "b", "c"]) receipts.push(await host.ask("slow", { type: "ChatRequest", input }));
  await host.environment.advance(1_000);
  for (const { requestId } of receipts) {
    expect((await host.runtime.status(requestId)).status).toBe("completed");
  }
});

test("the start of a queued request says when it was accepted, also after a crash; one that starts at once does not", async () => {
  const host = new TestHost({ agents: [slow] });
  const acceptedAt: string[] = [];
  const queue = async (input: string, runId: string | null): Promise<void> => {
    acceptedAt.push(new Date(host.environment.now()).toISOString());
    await host.ask("slow", say(runId, input));
  };
  const { runId } = await host.ask("slow", { type: "ChatRequest", input: "1" });
  await host.environment.advance(100);
  await queue("2", runId);
  await host.environment.advance(100);
  await queue("3", runId);
  await queue("4", runId);
  await host.ask("slow", { type: "CancelRequest", request_id: "req-4" });
  await host.restart();
  await host.environment.advance(3_000);
  await host.ask("slow", say(runId, "5"));
  const started = ofType(await host.events(runId ?? ""), "RequestStarted");
  const times = new Map(started.map((event) => [event.input, event.accepted_at]));
  const [second, third, fourth] = acceptedAt;
  expect([...times]).toEqual([
    ["1", undefined],
    ["4", fourth],
    ["2", second],
    ["3", third],
    ["5", undefined],
  ]);
});
