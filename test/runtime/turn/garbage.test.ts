import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime, Turn } from "troupe";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { expect, test, vi } from "vitest";
import { collectGarbage } from "../../machine/garbage.ts";

const echo = defineAgent({ name: "echo", purpose: "Says what it hears.", chat: (input) => input });

test(
  "an ended turn leaves little garbage that needs a full garbage collection",
  { tags: "long" },
  async () => {
    const runtime = createRuntime({ agents: [echo], limits: { idleRuns: 0 } });
    await takeTurns(runtime, 1_000);
    const trials: number[] = [];
    for (let trial = 0; trial < 3; trial += 1) trials.push(await oldGarbagePerTurn(runtime));
    // The least, because objects of other tests in this process can become garbage during a trial.
    expect(Math.min(...trials)).toBeLessThan(6_000);
    await runtime.close();
  },
);

/** The bytes per turn that only a full garbage collection frees. */
async function oldGarbagePerTurn(runtime: Runtime): Promise<number> {
  collectGarbage();
  await takeTurns(runtime, TURNS);
  // Twice: objects that survive the first collection are checked again.
  collectGarbage({ type: "minor" });
  collectGarbage({ type: "minor" });
  const young = process.memoryUsage().heapUsed;
  collectGarbage();
  return (young - process.memoryUsage().heapUsed) / TURNS;
}

const TURNS = 500;

async function takeTurns(runtime: Runtime, count: number): Promise<void> {
  for (let taken = 0; taken < count; taken += 1) {
    const receipt = await runtime.process("echo", { type: "ChatRequest", input: "hello" });
    await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  }
}

/** A log that stores only the rows and the index, so that the heap shows what a turn keeps. */
function emptyLog(): EventLog {
  const log = memoryLog();
  return {
    ...log,
    async append(cursor, batch) {
      const { head, records } = cursor;
      const next = await log.append(
        { ...cursor, head: 0, records: 0 },
        { ...batch, events: [], records: [] },
      );
      return { ...next, head: head + batch.events.length, records: records + batch.records.length };
    },
  };
}

/** Runs a turn that repeats something, and returns the heap growth per repetition. */
async function growthPerCall(toCall: (turn: Turn) => Promise<unknown>): Promise<number> {
  let growth = 0;
  const caller = defineAgent({
    name: "caller",
    purpose: "Makes many calls in one turn.",
    async chat(_input, turn) {
      for (let call = 0; call < WARM_UP; call += 1) await toCall(turn);
      const trials: number[] = [];
      for (let trial = 0; trial < 2; trial += 1) {
        collectGarbage();
        const before = process.memoryUsage().heapUsed;
        for (let call = 0; call < CALLS; call += 1) await toCall(turn);
        collectGarbage();
        trials.push(process.memoryUsage().heapUsed - before);
      }
      // The less, because other tests in this process can use memory during a trial.
      growth = Math.min(...trials);
    },
  });
  const runtime = createRuntime({
    agents: [caller],
    log: emptyLog(),
    limits: { agentCalls: Infinity, runEvents: Infinity },
  });
  const receipt = await runtime.process("caller", { type: "ChatRequest", input: "" });
  await vi.waitFor(() => expect(growth).not.toBe(0), { timeout: 60_000, interval: 50 });
  await runtime.close();
  expect(receipt.runId).not.toBeNull();
  return growth / CALLS;
}

const WARM_UP = 1_000;
const CALLS = 20_000;

test("a turn keeps nothing of a dropped call", { tags: "long" }, async () => {
  const careless = defineAgent({
    name: "careless",
    purpose: "Ends while its sleep is open.",
    async chat(_input, turn) {
      void turn.sleep(60_000);
      return "done";
    },
  });

  expect(await growthPerCall((turn) => turn.call(careless, "chat", { input: "" }))).toBeLessThan(40);
});

test("a turn keeps nothing of a call that waited for the memory of its agent", { tags: "long" }, async () => {
  const keeper = defineAgent({
    name: "keeper",
    purpose: "Shares its memory of the run.",
    memory: "run",
    chat: (input) => input,
  });

  const growth = await growthPerCall((turn) =>
    Promise.all([turn.call(keeper, "chat", { input: "" }), turn.call(keeper, "chat", { input: "" })]),
  );
  expect(growth).toBeLessThan(40);
});
