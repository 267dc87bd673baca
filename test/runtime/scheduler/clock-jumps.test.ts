import { defineAgent, defineTool, fromMachine } from "troupe";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { TestHost, asked, chat } from "../test-host.ts";

const HOUR_MS = 3_600_000;

const never = defineTool({
  name: "never",
  description: "Never ends.",
  input: z.object({}),
  run: () => new Promise<null>(() => {}),
});

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for an hour.",
  async chat(_input, turn) {
    await turn.sleep(HOUR_MS);
  },
});
const asker = defineAgent({
  name: "asker",
  purpose: "Waits for an answer for an hour.",
  async chat(_input, turn) {
    await turn.waitForInput(z.object({ go: z.boolean() }), { timeoutMs: HOUR_MS });
  },
});
const receiver = defineAgent({
  name: "receiver",
  purpose: "Waits for a message for an hour.",
  messages: { note: z.string() },
  async chat(_input, turn) {
    await turn.receive("note", { timeoutMs: HOUR_MS });
  },
});
const caller = defineAgent({
  name: "caller",
  purpose: "Gives a tool an hour.",
  tools: [never],
  async chat(_input, turn) {
    await turn.tool(never, {}, { timeoutMs: HOUR_MS }).catch(() => {});
  },
});
const delayed = fromMachine({
  name: "delayed",
  purpose: "Stays in a state for an hour.",
  operations: {},
  machine: createMachine({
    initial: "open",
    states: {
      open: { on: { chat: "resting" } },
      resting: { after: { [HOUR_MS]: "done" } },
      done: { type: "final" },
    },
  }),
});
const agents = [sleeper, asker, receiver, caller, delayed];

test.each(agents.flatMap((agent) => [1_000, 0].map((idleRuns) => ({ agent: agent.name, idleRuns }))))(
  "a clock that jumps over the end of a wait ends it within a minute: $agent, with $idleRuns idle runs in memory",
  async ({ agent, idleRuns }) => {
    const host = new TestHost({ agents, limits: { idleRuns } });
    await host.ask(agent, chat);
    await host.environment.advance(10_000);
    host.environment.step(3 * HOUR_MS);
    await host.environment.advance(60_000);
    expect(await host.runtime.status(asked)).toMatchObject({ status: "completed", finish_reason: "success" });
  },
);

test("a clock that jumps over the time of a schedule sends its request within a minute", async () => {
  const agent = defineAgent({
    name: "clerk",
    purpose: "Works at noon.",
    operations: (own) => ({ report: own({ input: z.object({}), run: () => "done" }) }),
    schedules: { noon: { cron: "0 12 * * *", timezone: "UTC", operation: "report", input: {} } },
  });
  const host = new TestHost({ agents: [agent] });
  await host.environment.advance(10_000);
  host.environment.step(12 * HOUR_MS);
  await host.environment.advance(60_000);
  const { runs } = await host.runtime.runs({ limit: 10 });
  expect(runs).toMatchObject([{ agent: "clerk", turns: 1 }]);
});
