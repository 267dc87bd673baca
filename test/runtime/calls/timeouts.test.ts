import { defineAgent, defineTool } from "troupe";
import type { Model } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";
import { asker } from "./asker.ts";
import { atEveryCrash } from "./crashes.ts";
import { outcomeOf } from "./outcome.ts";

const slow = defineTool({
  name: "slow",
  description: "Sleeps.",
  input: z.object({ ms: z.number() }),
  effect: "idempotent",
  async run({ ms }, turn) {
    await turn.sleep(ms);
    return "done";
  },
});

/** Waits in the process, not in the log. */
const stuck = defineTool({
  name: "stuck",
  description: "Never ends.",
  input: z.object({}),
  effect: "idempotent",
  run: () => new Promise<null>(() => {}),
});

const hasty = defineAgent({
  name: "hasty",
  purpose: "Waits for a second.",
  chat: (input, turn) =>
    outcomeOf(
      input === "stuck"
        ? turn.tool(stuck, {}, { timeoutMs: 1_000 })
        : turn.tool(slow, { ms: Number(input) }, { timeoutMs: 1_000 }),
    ),
});

const late = JSON.stringify({
  code: "timeout",
  agent: "slow",
  operation: "slow",
  callId: "c1.1",
  message: "slow did not end within 1000 ms",
});

test("a call fails with timeout at its deadline, which its ToolCall has, and one that ends before does not", async () => {
  const host = new TestHost({ agents: [hasty] });
  const started = host.environment.now();
  await host.ask("hasty", { ...chat, input: "100000" });
  await host.environment.advance(999);
  expect((await host.runtime.status(asked)).status).toBe("running");
  await host.environment.advance(1);
  const events = await host.events(asked);
  expect(ofType(events, "ToolCall")[0]).toMatchObject({
    expires_at: new Date(started + 1_000).toISOString(),
  });
  expect(ofType(events, "ToolError")[0]).toMatchObject({ code: "timeout", tool_call_id: "c1.1" });
  expect(events.at(-1)).toMatchObject({ result: late });
  expect(host.environment.timers).toBe(0);

  const inTime = new TestHost({ agents: [hasty] });
  await inTime.ask("hasty", { ...chat, input: "999" });
  await inTime.environment.advance(999);
  expect((await inTime.events(asked)).at(-1)).toMatchObject({ result: 'result "done"' });
  expect(inTime.environment.timers).toBe(0);
});

test("the deadline holds over a restart, however long that takes", async () => {
  for (const [downMs, leftMs] of [
    [400, 600],
    [5_000, 0],
  ] as const) {
    const host = new TestHost({ agents: [hasty] });
    await host.ask("hasty", { ...chat, input: "stuck" });
    host.crash();
    host.clockMs += downMs;
    await host.restart();
    await host.environment.advance(leftMs - 1);
    expect((await host.events(asked)).at(-1)?.type).toBe(leftMs > 0 ? "ToolCall" : "RequestCompleted");
    await host.environment.advance(1);
    const events = await host.events(asked);
    expect(events.at(-1)).toMatchObject({ result: late.replaceAll("slow", "stuck") });
    expect(ofType(events, "ToolCall")).toHaveLength(leftMs > 0 ? 2 : 1);
  }
});

test("a deadline lies no farther ahead than its limit when the clock was set back", async () => {
  const host = new TestHost({ agents: [hasty] });
  await host.ask("hasty", { ...chat, input: "stuck" });
  host.crash();
  host.clockMs -= 3_600_000;
  await host.restart();
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: late.replaceAll("slow", "stuck") });
});

test("the outcome of a deadline is the same after a crash at any commit", async () => {
  const agent = defineAgent({
    name: "many",
    purpose: "Makes calls with different deadlines.",
    async chat(_input, turn) {
      const order: string[] = [];
      const limits = [300, 100, 200, 1_000];
      const calls = limits.map((timeoutMs) => turn.tool(slow, { ms: 500 }, { timeoutMs }));
      await Promise.all(
        calls.map(async (call, index) => {
          const outcome = await outcomeOf(call);
          order.push(`${index} ${outcome.includes("timeout") ? "timeout" : outcome}`);
        }),
      );
      return order.join("; ");
    },
  });
  const expected = '1 timeout; 2 timeout; 0 timeout; 3 result "done"';
  for (const { place, events } of await atEveryCrash({
    agents: [agent],
    to: "many",
    stepMs: 100,
    steps: 10,
  })) {
    expect({ place, end: events.at(-1) }).toMatchObject({ place, end: { result: expected } });
  }
});

test("effects, completions and tools with a time limit of their own end at it too", async () => {
  const silent: Model = {
    name: "silent",
    async *generate(_input, { signal }) {
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve);
      });
      yield { type: "result", result: null, usage: {} };
    },
  };
  const limited = defineTool({
    name: "limited",
    description: "Sleeps for long.",
    input: z.object({}),
    timeoutMs: 50,
    run: (_input, turn) => turn.sleep(1_000).then(() => "done"),
  });
  const agent = defineAgent({
    name: "several",
    purpose: "Has time limits.",
    async chat(_input, turn) {
      const outcomes = [
        await outcomeOf(turn.effect("stuck", () => new Promise<null>(() => {}), { timeoutMs: 50 })),
        await outcomeOf(turn.complete({ model: silent, input: null, timeoutMs: 50 })),
        await outcomeOf(turn.tool(limited, {})),
        await outcomeOf(turn.tool(limited, {}, { timeoutMs: 2_000 })),
      ];
      return outcomes.join("\n");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("several", chat);
  await host.environment.advance(2_000);
  const events = await host.events(asked);
  const error = (agent: string, callId: string, operation?: string): string =>
    JSON.stringify({
      code: "timeout",
      agent,
      operation,
      callId,
      message: `${agent} did not end within 50 ms`,
    });
  expect(events.at(-1)).toMatchObject({
    result: [
      error("stuck", "c1.1"),
      error("silent", "c1.2"),
      error("limited", "c1.3", "limited"),
      'result "done"',
    ].join("\n"),
  });
  expect(ofType(events, "CompletionResult")[0]).toMatchObject({ error_code: "timeout" });
  expect(ofType(events, "CompletionCall")[0]?.expires_at).toBeDefined();
  expect(host.environment.timers).toBe(0);
});

test.each([0, -1, Number.NaN, Infinity, "5", 1e15])(
  "a timeoutMs of %s is an error that names the call",
  async (bad) => {
    const timeoutMs = bad as number;
    const agent = defineAgent({
      name: "wrong",
      purpose: "Gives a wrong limit.",
      chat: async (_input, turn) => outcomeOf((async () => turn.tool(slow, { ms: 1 }, { timeoutMs }))()),
    });
    const host = new TestHost({ agents: [agent] });
    await host.ask("wrong", chat);
    const end = (await host.events(asked)).at(-1);
    expect(end?.type === "RequestCompleted" && end.result).toContain(
      "the timeoutMs of tool slow in agent wrong is",
    );
    expect(() =>
      defineTool({ name: "odd", description: "", input: z.object({}), timeoutMs, run: () => 1 }),
    ).toThrow(/the timeoutMs of tool odd is .*; use a number of milliseconds, more than 0/);
  },
);

test("a deadline wakes a turn that left memory while it sleeps or waits for a person", async () => {
  const agent = defineAgent({
    name: "patient",
    purpose: "Waits for a minute.",
    chat: (input, turn) =>
      outcomeOf(
        input === "sleep"
          ? turn.tool(slow, { ms: 86_400_000 }, { timeoutMs: 60_000 })
          : turn.call(asker, "chat", { input }, { timeoutMs: 60_000 }),
      ),
  });
  for (const input of ["sleep", "ask"]) {
    const host = new TestHost({ agents: [agent], limits: { idleRuns: 0 } });
    await host.ask("patient", { ...chat, input });
    expect(host.runtime.health().activeRuns).toBe(0);
    await host.restart();
    await host.environment.advance(59_000);
    expect((await host.events(asked)).at(-1)?.type).not.toBe("RequestCompleted");
    await host.environment.advance(1_000);
    const events = await host.events(asked);
    expect(ofType(events, "ToolError").at(-1)).toMatchObject({ code: "timeout", tool_call_id: "c1.1" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  }
});
