import { defineAgent, fromMachine } from "troupe";
import type { Agent } from "troupe";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { eventSchemas } from "../../../src/protocol/events/events.ts";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const DAY_MS = 86_400_000;
/** Longer than a 32-bit timer. */
const MONTH_MS = 30 * DAY_MS;
const limits = { idleRuns: 0 };

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for a month.",
  async chat(_input, turn) {
    await turn.text("Good night.");
    await turn.sleep(MONTH_MS);
    await turn.text("Good morning.");
  },
});

const delayed = fromMachine({
  name: "delayed",
  purpose: "Waits for a month in one of its states.",
  operations: {},
  machine: createMachine({
    initial: "open",
    states: {
      open: { on: { chat: "resting" } },
      resting: { after: { [MONTH_MS]: "done" } },
      done: { type: "final" },
    },
  }),
});

test("turns in long sleeps leave memory, and one timer wakes each in time", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  for (let day = 0; day < 20; day += 1) {
    await host.ask("sleeper", { ...chat, request_id: `asked-${day}` as RequestId });
    await host.environment.advance(DAY_MS);
  }
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0, activeTurns: 0 });
  expect(host.environment.timers).toBe(1);

  await host.environment.advance(10 * DAY_MS - 1);
  expect(textsOf(await host.events("asked-0"))).toEqual(["Good night."]);
  await host.environment.advance(1);
  expect(textsOf(await host.events("asked-0"))).toEqual(["Good night.", "Good morning."]);
  expect(textsOf(await host.events("asked-1"))).toEqual(["Good night."]);
  await host.environment.advance(19 * DAY_MS);
  for (let day = 0; day < 20; day += 1) {
    expect(ofType(await host.events(`asked-${day}`), "RequestCompleted")).toHaveLength(1);
  }
  expect(host.environment.timers).toBe(0);
});

test.each([
  ["a handler", sleeper],
  ["a machine's delay", delayed],
])("%s sleeps through restarts that do not load it, and wakes in time", async (_, agent: Agent) => {
  const host = new TestHost({ agents: [agent], limits });
  await host.ask(agent.name, chat);
  const { commits } = host;
  for (let restart = 0; restart < 10; restart += 1) {
    await host.environment.advance(2 * DAY_MS);
    await host.restart();
  }
  expect(host.commits).toBe(commits);
  expect(host.runtime.health()).toMatchObject({ ready: true, activeRuns: 0 });
  expect(host.environment.timers).toBe(1);

  await host.environment.advance(10 * DAY_MS - 1);
  expect(host.commits).toBe(commits);
  await host.environment.advance(1);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a sleep without end has a time that events and the status can hold", async () => {
  const forever = defineAgent({
    name: "forever",
    purpose: "Sleeps until it is canceled.",
    chat: (_input, turn) => turn.sleep(Number.MAX_SAFE_INTEGER),
  });
  const host = new TestHost({ agents: [forever], limits });
  await host.ask("forever", chat);
  const [sleeping] = ofType(await host.events(asked), "Sleeping");
  const until = "9999-12-31T23:59:59.999Z";
  expect(eventSchemas.Sleeping.parse(sleeping)).toMatchObject({ until });
  expect(await host.runtime.status(asked)).toMatchObject({ wake_at: until });
});

test("a turn whose wake time passed while no process ran is woken before the next one is ready", async () => {
  const host = new TestHost({ agents: [sleeper] });
  await host.ask("sleeper", chat);
  host.crash();
  await host.environment.advance(2 * MONTH_MS);

  await host.restart();
  expect(host.runtime.health()).toMatchObject({ ready: true, activeRuns: 1 });
  await host.environment.advance(0);
  expect(textsOf(await host.events(asked))).toEqual(["Good night.", "Good morning."]);
});

test("a passivated sleeping turn can be canceled", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  await host.ask("sleeper", chat);
  await host.ask("sleeper", { type: "CancelRequest", request_id: asked });

  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "canceled" });
  await host.environment.advance(MONTH_MS);
  expect(textsOf(await host.events(asked))).toEqual(["Good night."]);
});

test("requests to a passivated sleeping run are processed after it has woken", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  const { runId } = await host.ask("sleeper", chat);
  const next = { ...chat, run_id: runId as RunId, request_id: "next" as RequestId };
  await host.ask("sleeper", { ...next, on_busy: "enqueue" });
  await host.restart();
  expect(await host.runtime.status(next.request_id)).toMatchObject({ status: "queued" });
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });

  await host.environment.advance(MONTH_MS);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "completed" });
  await host.environment.advance(MONTH_MS);
  expect(await host.runtime.status(next.request_id)).toMatchObject({ status: "completed" });
});

test("a passivated turn that sleeps and waits continues with the first of both", async () => {
  const agent = defineAgent({
    name: "patient",
    purpose: "Waits for an answer for a month.",
    async chat(_input, turn) {
      const patience = turn.sleep(MONTH_MS).then(() => "nobody");
      const answer = turn.waitForInput({ name: "Your name?" }).then(({ name }) => name as string);
      return `Hello ${await Promise.race([patience, answer])}.`;
    },
  });
  const host = new TestHost({ agents: [agent], limits });
  await host.ask("patient", chat);
  const late = "late" as RequestId;
  await host.ask("patient", { ...chat, request_id: late });
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });

  await host.environment.advance(DAY_MS);
  await host.ask("patient", { type: "ResumeWithInput", request_id: asked, request_keys: { name: "Ann" } });
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "Hello Ann." });
  await host.environment.advance(MONTH_MS);
  expect((await host.events(late)).at(-1)).toMatchObject({ result: "Hello nobody." });
});

test("a turn that kills the process at each wake-up is ended", async () => {
  let life = 0;
  const agent = defineAgent({
    name: "deadly",
    purpose: "Brings the process down when it runs again.",
    async chat(_input, turn) {
      life += 1;
      if (life > 1) host.crash();
      await turn.sleep(MONTH_MS);
    },
  });
  const host = new TestHost({ agents: [agent], limits });
  await host.ask("deadly", chat);
  await host.environment.advance(MONTH_MS);
  for (let restart = 1; restart <= 5; restart += 1) {
    expect(host.crashed).toBe(true);
    await host.restartUntilContinued(asked);
  }

  expect(host.crashed).toBe(false);
  expect(life).toBe(6);
  expect((await host.events(asked)).at(-1)).toMatchObject({ error: { code: "poisoned" } });
});

test("a turn that works beside its sleep does not count as sleeping", async () => {
  const agent = defineAgent({
    name: "busy",
    purpose: "Sleeps and works.",
    async chat(_input, turn) {
      const work = turn.effect("work", () => new Promise<never>(() => {}));
      await Promise.race([turn.sleep(MONTH_MS), work]);
    },
  });
  const host = new TestHost({ agents: [agent], limits });
  await host.ask("busy", chat);
  expect(host.runtime.health()).toMatchObject({ activeRuns: 1 });
  expect(await host.log.open()).toMatchObject([{ requestId: asked }]);
});

test("a log that cannot be read at the wake time is read again", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  await host.ask("sleeper", chat);
  host.failSleepingLists(1);
  await host.environment.advance(MONTH_MS);
  expect(textsOf(await host.events(asked))).toEqual(["Good night."]);

  await host.environment.advance(1_000);
  expect(textsOf(await host.events(asked))).toEqual(["Good night.", "Good morning."]);
});

test("a sleeping turn survives three crashes; its wake-ups do not count against it", async () => {
  for (let commit = 0; commit < 4; commit += 1) {
    const host = new TestHost({ agents: [sleeper], limits });
    host.planFault({ kind: "crash", written: true, after: commit });
    void host.runtime.process("sleeper", chat).catch(() => {});
    await host.environment.idle();
    await host.restart();

    // Each of the next two processes dies at the wake-up.
    host.planFault({ kind: "crash", written: false, after: 1 });
    await host.environment.advance(MONTH_MS);
    host.planFault({ kind: "crash", written: false, after: 1 });
    await host.restart();
    await host.environment.advance(0);
    expect(host.crashed).toBe(true);
    await host.restartUntilContinued(asked);
    await host.environment.advance(0);

    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  }
});

test.each([
  ["a handler", sleeper, undefined],
  ["a handler that stays in memory", sleeper, { idleRuns: 1_000 }],
  ["a machine's delay", delayed, undefined],
])(
  "%s wakes after its requested time when the clock was set back over a restart",
  async (_, agent: Agent, more) => {
    const host = new TestHost({ agents: [agent], limits: more ?? limits });
    await host.ask(agent.name, chat);
    await host.environment.advance(10 * DAY_MS);
    host.clockMs = -365 * DAY_MS;
    await host.restart();
    await host.environment.advance(MONTH_MS - 1);
    expect(ofType(await host.events(asked), "RequestCompleted")).toEqual([]);
    await host.environment.advance(1);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  },
);

test("after the clock was set back, further restarts do not restart a sleep", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  await host.ask("sleeper", chat);
  host.clockMs = -365 * DAY_MS;
  for (let day = 0; day < 30; day += 1) {
    await host.restart();
    expect(ofType(await host.events(asked), "RequestCompleted")).toEqual([]);
    await host.environment.advance(DAY_MS);
  }
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("if the clock is set back by less than the rest of a sleep, the sleep ends by the clock", async () => {
  const host = new TestHost({ agents: [sleeper], limits });
  await host.ask("sleeper", chat);
  await host.environment.advance(20 * DAY_MS);
  host.clockMs = -5 * DAY_MS;
  const { commits } = host;
  await host.restart();
  expect(host.commits).toBe(commits);
  await host.environment.advance(15 * DAY_MS - 1);
  expect(ofType(await host.events(asked), "RequestCompleted")).toEqual([]);
  await host.environment.advance(1);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test.each([
  ["in memory", 1_000, MONTH_MS],
  ["out of memory", 0, 2 * MONTH_MS],
])("a clock set back under a running process makes no turn %s sleep forever", async (_, idleRuns, ms) => {
  const host = new TestHost({ agents: [sleeper], limits: { idleRuns } });
  await host.ask("sleeper", chat);
  await host.environment.advance(10 * DAY_MS);
  host.clockMs = -365 * DAY_MS;
  await host.environment.advance(ms - 10 * DAY_MS);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});
