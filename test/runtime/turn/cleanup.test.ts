import { defineAgent, defineTool, fromMachine, operation } from "troupe";
import type { Agent } from "troupe";
import { assign, setup } from "xstate";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";
import { shortened } from "../../machine/long.ts";

const place = z.object({ place: z.string() });

/** The agents of a saga, and what they have done outside. */
function saga(): { readonly agents: readonly Agent[]; readonly done: string[] } {
  const done: string[] = [];
  const book = defineTool({
    name: "book",
    description: "Books.",
    input: place,
    effect: "idempotent",
    run({ place: booked }): string {
      done.push(`book ${booked}`);
      return booked;
    },
  });
  const undo = defineTool({
    name: "undo",
    description: "Cancels a booking.",
    input: place,
    effect: "idempotent",
    run({ place: booked }): string {
      done.push(`undo ${booked}`);
      if (booked === "car") throw new Error("the car is gone");
      return booked;
    },
  });
  const ledger = defineAgent({
    name: "ledger",
    purpose: "Writes down what is refunded.",
    memorySchema: z.array(z.string()).default([]),
    operations: (own) => ({
      refund: own({
        input: place,
        async run({ place: booked }, turn): Promise<number> {
          await turn.sleep(2_000);
          turn.memory.set([...turn.memory.get(), booked]);
          return turn.memory.get().length;
        },
      }),
      all: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const trip = defineAgent({
    name: "trip",
    purpose: "Books a trip.",
    memorySchema: z.array(z.string()).default([]),
    operations: (own) => ({
      go: own({
        input: z.object({ places: z.array(z.string()), last: z.enum(["wait", "fail", "end", "spin"]) }),
        async run({ places, last }, turn): Promise<string> {
          for (const booked of places) {
            turn.cleanup(async (t) => {
              await t.tool(undo, { place: booked });
              t.memory.set([...t.memory.get(), booked]);
              if (booked === "flight") await t.ask(t.actor(ledger, "books"), "refund", { place: booked });
              await t.text(`${booked} is canceled; `);
            });
            await turn.tool(book, { place: booked });
          }
          if (last === "fail") throw new Error("no seat");
          if (last === "wait") await turn.waitForInput({ ok: "Go?" });
          if (last === "spin") await new Promise(() => {});
          return "gone";
        },
      }),
      undone: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  return { agents: [trip, ledger], done };
}

const go = (places: readonly string[], last: string) =>
  ({
    type: "OperationRequest",
    operation: "go",
    input: { places, last },
    key: "one",
    request_id: asked,
  }) as const;

const cancel = { type: "CancelRequest", request_id: asked } as const;

test("a canceled turn undoes what it has done, the newest first, and is canceling meanwhile", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["flight", "hotel"], "wait"));
  const receipt = await host.ask("trip", cancel);
  expect(JSON.parse(receipt.event ?? "")).toMatchObject({
    type: "RequestCanceling",
    finish_reason: "canceled",
    role: "system",
  });
  expect(await host.runtime.status(asked)).toMatchObject({ status: "canceling" });
  expect((await host.runtime.runs({ agent: "trip", limit: 1 })).runs[0]).toMatchObject({
    status: "running",
    last_turn: { canceling: {} },
  });
  await host.environment.advance(5_000);
  expect(done).toEqual(["book flight", "book hotel", "undo hotel", "undo flight"]);
  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["hotel is canceled; ", "flight is canceled; "]);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
  expect(events.at(-1)).not.toHaveProperty("cleanup_errors");
  expect(await host.runtime.status(asked)).toMatchObject({ status: "completed", finish_reason: "canceled" });
  expect((await host.runtime.runs({ agent: "trip", limit: 1 })).runs[0]?.last_turn).not.toHaveProperty(
    "canceling",
  );
  expect(JSON.parse((await host.ask("ledger", read("all", "books"))).event ?? "")).toMatchObject({
    output: ["flight"],
  });
  // What the steps have set in the memory is kept.
  expect(JSON.parse((await host.ask("trip", read("undone", "one"))).event ?? "")).toMatchObject({
    output: ["hotel", "flight"],
  });
});

const read = (name: string, key: string) =>
  ({ type: "OperationRequest", operation: name, input: {}, key }) as const;

test("a turn that fails or exceeds its time undoes what it has done, and ends with its error", async () => {
  for (const [last, code] of [
    ["fail", "agent_error"],
    ["spin", "timeout"],
  ] as const) {
    const { agents, done } = saga();
    const host = new TestHost({ agents, limits: { turnMs: 10_000 } });
    await host.ask("trip", go(["hotel"], last));
    await host.environment.advance(20_000);
    expect(done).toEqual(["book hotel", "undo hotel"]);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "error", error: { code } });
  }
});

test("a turn that succeeds undoes nothing", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["hotel"], "end"));
  expect(done).toEqual(["book hotel"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "gone" });
});

test("a step that fails does not stop the others, and the end of the turn says it", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["hotel", "car"], "fail"));
  expect(done).toEqual(["book hotel", "book car", "undo car", "undo hotel"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    error: { code: "agent_error", message: "no seat" },
    cleanup_errors: ["the car is gone"],
  });
});

for (const idleRuns of shortened([0, 1_000], 1))
  test(
    `after a crash at any commit each step has run, and no answer is lost, with ${idleRuns} runs in memory`,
    { tags: "long" },
    async () => {
      const plan = async (commit: number, written: boolean): Promise<number> => {
        const { agents, done } = saga();
        const host = new TestHost({ agents, limits: { idleRuns } });
        await host.ask("trip", go(["flight", "hotel"], "wait"));
        const before = host.commits;
        if (commit > 0) host.planFault({ after: commit - 1, kind: "crash", written });
        for (let tries = 0; tries < 10; tries += 1) {
          host.runtime.process("trip", cancel).catch(() => {});
          await host.environment.idle();
          if (host.crashed) await host.restart();
          await host.environment.advance(5_000);
          if (host.crashed) await host.restart();
          if ((await host.runtime.status(asked)).finish_reason !== undefined) break;
        }
        const events = await host.events(asked);
        expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
        expect(events.at(-1)).not.toHaveProperty("cleanup_errors");
        expect([...new Set(done)].slice(-2)).toEqual(["undo hotel", "undo flight"]);
        expect(ofType(events, "RequestCanceling")).toHaveLength(1);
        expect(textsOf(events)).toEqual(["hotel is canceled; ", "flight is canceled; "]);
        expect(JSON.parse((await host.ask("ledger", read("all", "books"))).event ?? "")).toMatchObject({
          output: ["flight"],
        });
        expect(JSON.parse((await host.ask("trip", read("undone", "one"))).event ?? "")).toMatchObject({
          output: ["hotel", "flight"],
        });
        return host.commits - before;
      };
      const commits = await plan(0, false);
      for (let commit = 1; commit <= commits; commit += 1)
        for (const written of [false, true]) await plan(commit, written);
    },
  );

test("a second cancel gets the same answer, and stops no step", async () => {
  const { agents } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["flight"], "wait"));
  const first = await host.ask("trip", cancel);
  const second = await host.ask("trip", cancel);
  expect(second.event).toBe(first.event);
  await host.environment.advance(5_000);
  expect(textsOf(await host.events(asked))).toEqual(["flight is canceled; "]);
  expect(JSON.parse((await host.ask("trip", cancel)).event ?? "")).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "canceled",
  });
});

test("a request that waits begins when the steps have run", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["flight"], "wait"));
  await host.ask("trip", { ...go(["boat"], "end"), request_id: "second", on_busy: "interrupt" });
  expect(done).not.toContain("book boat");
  await host.environment.advance(5_000);
  expect(done).toEqual(["book flight", "undo flight", "book boat"]);
});

test("steps that take too long are given up, and the end of the turn says it", async () => {
  const slow = defineAgent({
    name: "slow",
    purpose: "Cleans slowly.",
    async chat(_input, turn) {
      turn.cleanup(async () => {
        await turn.sleep(1);
      });
      turn.cleanup((t) => t.sleep(3_600_000));
      await turn.sleep(1_000_000);
    },
  });
  const host = new TestHost({ agents: [slow] });
  await host.ask("slow", { type: "ChatRequest", input: "", request_id: asked });
  await host.ask("slow", cancel);
  await host.environment.advance(59_000);
  expect((await host.runtime.status(asked)).status).toBe("canceling");
  await host.environment.advance(2_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "canceled",
    cleanup_errors: ["the cleanup steps did not end within 60000 ms"],
  });
});

test("a step cannot ask people, continue the turn or register a step, and a called agent cannot register one", async () => {
  const child = defineAgent({
    name: "child",
    purpose: "Tries to clean.",
    chat(_input, turn) {
      turn.cleanup(() => {});
    },
  });
  const wrong = defineAgent({
    name: "wrong",
    purpose: "Cleans wrongly.",
    async chat(_input, turn) {
      const errors: string[] = [];
      const note = (error: unknown): void => void errors.push((error as Error).message);
      await turn.call(child, "chat", { input: "" }).catch(note);
      await turn.text(errors.join());
      turn.cleanup((t) => t.waitForInput({ a: "?" }));
      turn.cleanup((t) => t.continueAs("chat", ""));
      turn.cleanup((t) => t.cleanup(() => {}));
      throw new Error("it ends");
    },
  });
  const host = new TestHost({ agents: [wrong] });
  await host.ask("wrong", { type: "ChatRequest", input: "", request_id: asked });
  const events = await host.events(asked);
  expect(textsOf(events)[0]).toContain("ask it in place of calling it");
  expect(events.at(-1)).toMatchObject({
    error: { message: "it ends" },
    cleanup_errors: [
      "a cleanup step cannot register another one",
      "a cleanup step cannot continue the turn, which has ended",
      "a cleanup step cannot ask people: it has too little time to wait for them",
    ],
  });
});

test("steps whose code no longer fits the log are held, and run when fitting code is served", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["flight"], "wait"));
  host.planFault({ after: 0, kind: "crash", written: true });
  host.runtime.process("trip", cancel).catch(() => {});
  await host.environment.idle();
  const other = defineAgent({
    name: "trip",
    purpose: "Does something else.",
    operations: (own) => ({
      go: own({ input: z.object({}), run: async (_input, turn) => turn.text("other") }),
    }),
  });
  await host.restart([other, ...agents.slice(1)]);
  await host.environment.advance(5_000);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    held: { code: "nondeterministic" },
  });
  expect(done).toEqual(["book flight"]);
  await host.restart(agents);
  await host.environment.advance(5_000);
  expect(done).toEqual(["book flight", "undo flight"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "canceled" });
});

test("a canceled turn whose code is not served is held; ending it gives its steps up", async () => {
  const { agents, done } = saga();
  const host = new TestHost({ agents });
  await host.ask("trip", go(["flight"], "wait"));
  await host.restart(agents.slice(1));
  await host.ask("trip", cancel);
  expect((await host.runtime.status(asked)).status).toBe("held");
  const { runId } = await host.runtime.resolve(asked);
  const ended = host.runtime.endHeld(runId);
  await host.environment.idle();
  await ended;
  expect(done).toEqual(["book flight"]);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "canceled",
    cleanup_errors: ["1 cleanup steps have not run: agent trip is no longer served"],
  });
});

test("a chart cleans up with its newest state, also over crashes", async () => {
  for (let commit = 0; commit < 8; commit += 1) {
    const done: string[] = [];
    const undo = defineTool({
      name: "undo",
      description: "Undoes.",
      input: place,
      effect: "idempotent",
      run: ({ place: booked }) => void done.push(booked),
    });
    const chart = fromMachine({
      name: "chart",
      purpose: "Books.",
      operations: { book: operation({ input: place }) },
      machine: setup({ types: { context: {} as { readonly booked: readonly string[] } } }).createMachine({
        context: { booked: [] },
        initial: "on",
        states: {
          on: {
            on: {
              book: {
                actions: assign(({ context, event }) => ({
                  booked: [...context.booked, (event as unknown as { place: string }).place],
                })),
              },
            },
            after: { 2_000_000_000: "off" },
          },
          off: { type: "final" },
        },
      }),
      async cleanup({ context }, turn) {
        for (const booked of context.booked.toReversed()) await turn.tool(undo, { place: booked });
      },
    });
    const host = new TestHost({ agents: [chart] });
    const book = (booked: string, id: string) =>
      ({
        type: "OperationRequest",
        operation: "book",
        input: { place: booked },
        key: "one",
        request_id: id,
      }) as const;
    await host.ask("chart", book("flight", asked));
    await host.ask("chart", book("hotel", "joined"));
    if (commit > 0) host.planFault({ after: commit - 1, kind: "crash", written: commit % 2 === 0 });
    for (let tries = 0; tries < 5; tries += 1) {
      host.runtime.process("chart", cancel).catch(() => {});
      await host.environment.idle();
      if (!host.crashed) break;
      await host.restart();
    }
    await host.environment.advance(1_000);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "canceled" });
    expect([...new Set(done)]).toEqual(["hotel", "flight"]);
  }
});
