import { fromMachine, memoryLog, createRuntime, operation } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { assign, fromPromise, setup } from "xstate";
import { z } from "zod";
import { countEvents } from "../../../src/protocol/events/texts.ts";

/** A chart that never ends by itself: it counts, asks a person now and then, and has a delay that is open all the time. */
const machine = setup({
  types: { context: {} as { readonly sum: number; readonly deeds: number } },
  actors: { deed: fromPromise(async () => 1) },
  actions: {
    add: assign({
      sum: ({ context, event }) => context.sum + (event as unknown as { readonly amount: number }).amount,
    }),
    did: assign({ deeds: ({ context }) => context.deeds + 1 }),
  },
}).createMachine({
  context: { sum: 0, deeds: 0 },
  type: "parallel",
  states: {
    counting: {
      initial: "on",
      states: {
        on: {
          tags: "wait",
          meta: { request_keys: { end: "End it?" } },
          on: { add: { actions: "add" }, resume: "off" },
        },
        off: { type: "final" },
      },
    },
    working: {
      initial: "resting",
      states: {
        resting: { on: { work: "doing", resume: "over" } },
        doing: { invoke: { src: "deed", onDone: { target: "resting", actions: "did" } } },
        over: { type: "final" },
      },
    },
    living: {
      initial: "alive",
      states: {
        alive: { after: { 1_000_000_000: "dead" }, on: { resume: "dead" } },
        dead: { type: "final" },
      },
    },
  },
  output: ({ context }) => context,
});

const counter = fromMachine({
  name: "counter",
  purpose: "Counts for ever.",
  effect: "idempotent",
  machine,
  operations: { add: operation({ input: z.object({ amount: z.number() }) }), work: operation({}) },
});

const KEY = { key: "one" } as const;

/** A log that counts what is read from it. */
function counted(log: EventLog): EventLog & { readonly seen: { events: number; records: number } } {
  const seen = { events: 0, records: 0 };
  return {
    ...log,
    seen,
    async read(runId, options) {
      const page = await log.read(runId, options);
      if (options.records === true) {
        seen.events += countEvents(page.events);
        seen.records += page.records.length;
      }
      return page;
    },
  };
}

test(
  "a chart that never ends is loaded from its newest checkpoint, with its questions, delays and actors",
  { tags: "long" },
  async () => {
    const environment = manualEnvironment();
    const memory = memoryLog();
    const start = (log: EventLog): Runtime =>
      createRuntime({ agents: [counter], environment, log, limits: { checkpointEvents: 100 } });
    let runtime = start(memory);
    const add = async (amount: number): Promise<void> => {
      await runtime.ask(counter, "add", { amount }, KEY);
    };
    const begun = runtime.process("counter", {
      type: "OperationRequest",
      operation: "add",
      input: { amount: 0 },
      request_id: "life",
      ...KEY,
    });
    await begun;
    await environment.idle();
    for (let times = 0; times < 600; times += 1) {
      await add(1);
      if (times % 10 === 0) await runtime.ask(counter, "work", {}, KEY);
      await environment.idle();
    }
    const runId = (await runtime.find("counter", "one")) ?? "";
    await runtime.close();

    const log = counted(memory.reopen());
    runtime = start(log);
    await environment.idle();
    await add(1);
    const { head } = (await memory.run(runId)) ?? { head: 0 };
    expect(head).toBeGreaterThan(2_000);
    expect(log.seen.events).toBeLessThan(400);
    expect(log.seen.records).toBeLessThan(600);
    const { records } = await memory.read(runId, { after: 0, records: true });
    const checkpoints = records.filter(({ type }) => type === "Checkpoint");
    expect(checkpoints.length).toBeGreaterThan(10);
    const sizes = checkpoints.map((record) => JSON.stringify(record).length);
    expect(Math.max(...sizes.slice(-3))).toBeLessThan(1.3 * Math.max(...sizes.slice(0, 3)));

    await runtime.process("counter", {
      type: "ResumeWithInput",
      request_id: "life",
      request_keys: { end: true },
    });
    await environment.idle();
    expect(await runtime.status("life")).toMatchObject({
      status: "completed",
      output: { sum: 601, deeds: 60 },
    });
    await runtime.close();
  },
);
