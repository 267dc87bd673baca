import { createRuntime, defineAgent, defineTool, memoryLog, operation } from "troupe";
import type { Event } from "troupe/protocol";
import { project } from "troupe/projection";
import { manualEnvironment } from "troupe/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { asked, TestHost } from "../test-host.ts";
import { sampled } from "../../machine/long.ts";

const add = defineTool({
  name: "add",
  description: "Adds one.",
  effect: "idempotent",
  input: z.object({ to: z.number() }),
  run: ({ to }) => to + 1,
});

const step = z.object({ step: z.number(), last: z.number() });

/** Makes steps until the last one: each is a turn of its own, with a tool, a text and the memory of those before. */
const looper = defineAgent({
  name: "looper",
  purpose: "Goes on and on.",
  messages: { more: z.number() },
  operations: {
    loop: operation({
      input: step,
      async run({ step: number, last }, turn): Promise<unknown> {
        const sum = await turn.tool(add, { to: Number(turn.memory.get() ?? 0) });
        turn.memory.set(sum);
        await turn.text(`${number} `);
        return number < last ? turn.continueAs("loop", { step: number + 1, last }) : sum;
      },
    }),
    listen: operation({
      input: z.object({}),
      async run(_input, turn): Promise<unknown> {
        const more = await turn.receive("more", { timeoutMs: 1_000 });
        if (more === undefined) return turn.memory.get() ?? null;
        turn.memory.set(Number(turn.memory.get() ?? 0) + Number(more));
        return turn.continueAs("listen", {});
      },
    }),
    wrong: operation({
      input: z.object({ how: z.string() }),
      run: ({ how }, turn) => (how === "name" ? turn.continueAs("nothing", {}) : turn.continueAs("loop", {})),
    }),
  },
});

const caller = defineAgent({
  name: "caller",
  purpose: "Asks the looper.",
  operations: {
    ask: operation({
      input: step,
      run: (input, turn): Promise<unknown> => turn.ask(turn.actor(looper, "one"), "loop", input),
    }),
    call: operation({
      input: step,
      run: (input, turn): Promise<unknown> => turn.call(looper, "loop", input),
    }),
  },
});

const agents = [looper, caller];

const loop = (last: number) =>
  ({ type: "OperationRequest", operation: "loop", input: { step: 1, last }, request_id: asked }) as const;

describe("turn.continueAs", () => {
  test("makes one request of many turns, whose answer is that of the last one", async () => {
    const host = new TestHost({ agents });
    await host.ask("looper", { ...loop(5), key: "one" });
    const events = await host.events(asked);
    expect(events.filter(({ type }) => type === "RequestStarted")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success", output: 5 });
    const calls = events.flatMap((event) => (event.type === "ToolCall" ? [event.tool_call_id] : []));
    expect(calls).toEqual(["c1.1", "c2.1", "c3.1", "c4.1", "c5.1"]);
    await host.ask("looper", { ...loop(1), request_id: "next", key: "one" });
    expect((await host.events("next")).at(-1)).toMatchObject({ output: 6 });
  });

  test("keeps the ask of another actor open until the last turn", async () => {
    const host = new TestHost({ agents });
    await host.ask("caller", { ...loop(4), operation: "ask" });
    for (let second = 0; second < 3; second += 1) await host.environment.advance(1_000);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", output: 4 });
  });

  test("reads what comes between two turns, and is canceled in any of them", async () => {
    const host = new TestHost({ agents });
    const listen = { ...loop(1), operation: "listen", input: {}, key: "one" } as const;
    await host.ask("looper", listen);
    for (const body of [1, 2, 3, 4]) {
      await host.ask("looper", { type: "Message", name: "more", body, key: "one" });
      if (body === 2) await host.restart();
    }
    await host.environment.advance(2_000);
    expect((await host.events(asked)).at(-1)).toMatchObject({ type: "RequestCompleted", output: 10 });

    await host.ask("looper", { ...listen, request_id: "second" });
    await host.ask("looper", { type: "Message", name: "more", body: 5, key: "one" });
    await host.ask("looper", { type: "CancelRequest", request_id: "second" });
    expect((await host.events("second")).at(-1)).toMatchObject({ finish_reason: "canceled" });
    // What the turns before have kept stays.
    await host.ask("looper", { ...listen, request_id: "third" });
    await host.environment.advance(2_000);
    expect((await host.events("third")).at(-1)).toMatchObject({ output: 15 });
  });

  test.each(["name", "input"])("ends with an error for a wrong %s", async (how) => {
    const host = new TestHost({ agents });
    await host.ask("looper", { ...loop(1), operation: "wrong", input: { how } });
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "error" });
  });

  test("is refused in a called agent", async () => {
    const host = new TestHost({ agents });
    await host.ask("caller", { ...loop(2), operation: "call" });
    expect((await host.events(asked)).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { message: expect.stringContaining("only the requested agent can continue its turn") as string },
    });
  });
});

test("a loop of many turns is loaded from its newest one", { tags: "long" }, async () => {
  const environment = manualEnvironment();
  const memory = memoryLog();
  const first = createRuntime({ agents, environment, log: memory });
  const listen = {
    type: "OperationRequest",
    operation: "listen",
    input: {},
    key: "one",
    request_id: asked,
  } as const;
  await first.process("looper", listen);
  await environment.idle();
  for (let body = 1; body <= 500; body += 1) {
    await first.process("looper", { type: "Message", name: "more", body, key: "one" });
    await environment.idle();
  }
  const runId = (await first.find("looper", "one")) ?? "";
  expect((await memory.run(runId))?.turns).toBe(501);
  await first.close();

  let read = 0;
  const log = memory.reopen();
  const next = createRuntime({
    agents,
    environment,
    log: {
      ...log,
      async read(id, options) {
        const page = await log.read(id, options);
        if (options.records === true) read += page.events.length + page.records.length;
        return page;
      },
    },
  });
  await next.process("looper", { type: "Message", name: "more", body: 1, key: "one" });
  await environment.idle();
  expect(read).toBeLessThan(300);
  await environment.advance(2_000);
  expect(await next.status(asked)).toMatchObject({ status: "completed", output: 125_251 });
  await next.close();
});

const faults = Array.from({ length: 24 }, (_, index) => index + 1).flatMap((commit) =>
  [true, false].map((written) => ({ commit, written })),
);

test.each(sampled(faults, 7))(
  "a crash at commit $commit (written: $written) leaves the same log as none",
  async ({ commit, written }) => {
    const whole = new TestHost({ agents });
    await whole.ask("looper", { ...loop(5), key: "one" });
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
    const begin = async (): Promise<void> => {
      host.ask("looper", { ...loop(5), key: "one" }).catch(() => {});
      await host.environment.idle();
    };
    await begin();
    if (host.crashed) await host.restart();
    await begin();
    expect(withoutAttempts(await host.events(asked))).toEqual(withoutAttempts(await whole.events(asked)));
  },
);

/** The events without their times, ids of runs and places, and without repeated attempts of a tool. */
function withoutAttempts(events: readonly Event[]): readonly object[] {
  return events
    .filter((event) => event.type !== "ToolCall" || (event.attempt ?? 1) === 1)
    .map(({ ts: _ts, run_id: _run, id: _id, ...event }) => event);
}

test("a continueAs that is not returned is an error, not a turn that ends well", async () => {
  const forgetful = defineAgent({
    name: "forgetful",
    purpose: "Forgets to return.",
    operations: (own) => ({
      go: own({
        input: z.object({}),
        run(_input, turn): string {
          const go = (): string => turn.continueAs("go", {});
          return go().length > 0 ? "over" : "";
        },
      }),
    }),
  });
  const host = new TestHost({ agents: [forgetful] });
  await host.ask("forgetful", { type: "OperationRequest", operation: "go", input: {}, request_id: asked });
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { message: expect.stringContaining("return turn.continueAs") as string },
  });
});

test("what shows a run keeps no sleep of an earlier turn of a request", async () => {
  const napper = defineAgent({
    name: "napper",
    purpose: "Leaves a sleep behind in each turn.",
    operations: (own) => ({
      nap: own({
        input: z.object({ left: z.number() }),
        async run({ left }, turn): Promise<unknown> {
          void turn.sleep(3_600_000).catch(() => {});
          await turn.sleep(2_000);
          return left > 0 ? turn.continueAs("nap", { left: left - 1 }) : turn.sleep(10_000_000);
        },
      }),
    }),
  });
  const host = new TestHost({ agents: [napper] });
  await host.ask("napper", {
    type: "OperationRequest",
    operation: "nap",
    input: { left: 5 },
    request_id: asked,
  });
  for (let turns = 0; turns < 6; turns += 1) await host.environment.advance(2_000);
  const view = project(await host.events(asked));
  // That of the newest turn, and the one that it waits for.
  expect(view.turns[0]?.open.sleeps).toHaveLength(2);
});
