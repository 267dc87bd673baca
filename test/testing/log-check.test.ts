import { defineAgent, defineTool, fromMachine } from "troupe";
import type { Agent, Turn } from "troupe";
import type { RequestId } from "troupe/protocol";
import { checkLog } from "troupe/testing";
import type { LogCheck, LogCheckOptions } from "troupe/testing";
import { expect, test } from "vitest";
import { createMachine, fromCallback, fromPromise } from "xstate";
import * as z from "zod";
import { TestHost, asked, chat } from "../runtime/test-host.ts";

/** What the agents of these tests have done. */
const done: string[] = [];

const book = defineTool({
  name: "book",
  description: "Books.",
  input: z.object({ seat: z.string() }),
  run: ({ seat }) => void done.push(`booked ${seat}`),
});

type Handler = (turn: Turn) => unknown;

function order(handler: Handler, version?: string): Agent {
  return defineAgent({
    name: "order",
    purpose: "Takes an order.",
    ...(version !== undefined && { version }),
    chat: async (_input, turn) => String(await handler(turn)),
  });
}

const other = defineAgent({ name: "other", purpose: "Is served, too.", chat: () => "Hello." });

const first: Handler = async (turn) => {
  await turn.text("One moment.");
  await turn.tool(book, { seat: "1A" });
  const { ok } = await turn.waitForInput({ ok: "Is it right?" });
  done.push("answered");
  return ok;
};

/** Checks the log of a host. */
function check(
  { log, artifacts, secrets }: TestHost,
  options: Omit<LogCheckOptions, "log">,
): Promise<LogCheck> {
  return checkLog({ log, artifacts, secrets, ...options });
}

function door(state: string, context: object = {}): Agent {
  return fromMachine({
    name: "order",
    purpose: "Asks in a state.",
    machine: createMachine({
      initial: "closed",
      context,
      states: {
        closed: { on: { chat: state } },
        [state]: { tags: ["wait"], meta: { request_keys: { ok: "Open?" } }, on: { resume: "open" } },
        open: { type: "final" },
      },
    }),
  });
}

/** Code that serves waiting turns, and the code that is to be served next. */
const deploys: Readonly<Record<string, readonly [before: Agent, after: Agent]>> = {
  "the same code": [order(first), order(first)],
  "code that goes another way after the wait": [
    order(first),
    order(async (turn) => `${String(await first(turn))}${String(await turn.tool(book, { seat: "2B" }))}`),
  ],
  "another text": [
    order(first),
    order(async (turn) => {
      await turn.text("One minute.");
      return first(turn);
    }),
  ],
  "a call that was added": [
    order(first),
    order(async (turn) => {
      await turn.text("One moment.");
      await turn.tool(book, { seat: "1A" });
      await turn.tool(book, { seat: "1B" });
      return turn.waitForInput({ ok: "Is it right?" });
    }),
  ],
  "code that ends early": [order(first), order((turn) => turn.text("One moment."))],
  "code that throws": [
    order(first),
    order(async (turn) => {
      await turn.text("One moment.");
      throw new TypeError("undefined is not a function");
    }),
  ],
  "another version": [order(first), order(first, "2")],
  "no such agent": [order(first), other],
  "a chart with the same state": [door("asking"), door("asking")],
  "a chart without the state": [door("asking"), door("questioning")],
  "a chart with more in its context": [door("asking"), door("asking", { opened: 0 })],
};

const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;

test.each(Object.keys(deploys))("%s: what the check says is what happens when it is served", async (what) => {
  const [before, after] = deploys[what] as readonly [Agent, Agent];
  const host = new TestHost({ agents: [before] });
  await host.ask("order", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  const { commits } = host;
  done.length = 0;

  const { fits, turns, agents, misfits } = await check(host, { agents: [after] });
  expect(done).toEqual([]);
  expect(host.commits).toBe(commits);
  expect(turns).toBe(1);

  await host.restart([after]);
  await host.ask("order", answer);
  const { held, run_id: runId } = await host.runtime.status(asked);
  expect(fits).toBe(held === undefined);
  expect(agents).toEqual([
    { agent: "order", fits: fits ? 1 : 0, older: 0, held: fits ? 0 : 1, undecided: 0 },
  ]);
  if (held === undefined) return;
  const { since: _, scope: __, ...reason } = held;
  expect(misfits).toEqual([{ ...reason, agent: "order", outcome: "held", runIds: [runId] }]);
});

test("the check says at which line of the agent's file its code takes another way", async () => {
  const host = new TestHost({ agents: [order(first)] });
  await host.ask("order", chat);
  const { misfits } = await check(host, { agents: [order((turn) => turn.waitForInput({ ok: "Fine?" }))] });
  expect(misfits).toMatchObject([
    {
      code: "nondeterministic",
      expected: 'text "One moment."',
      found: 'wait for {"ok":"Fine?"}',
      at: expect.stringMatching(/^testing\/log-check\.test\.ts:\d+$/) as string,
    },
  ]);
});

test("a turn that works is replayed to the end of its log, and nothing of it happens again", async () => {
  const charge = defineTool({
    name: "charge",
    description: "Charges.",
    effect: "idempotent",
    input: z.object({}),
    async run(_input, turn) {
      await turn.text("Charging.");
      done.push("charged");
      return new Promise(() => {});
    },
  });
  const working: Handler = async (turn) => {
    await turn.text("One moment.");
    await turn.effect("count", () => void done.push("counted"));
    await turn.all([
      (one) => one.tool(charge, {}),
      (two) => two.effect("more", () => new Promise<void>(() => {})),
    ]);
  };
  const host = new TestHost({ agents: [order(working)] });
  done.length = 0;
  void host.runtime.process("order", chat);
  await host.environment.idle();
  expect(done.splice(0)).toEqual(["counted", "charged"]);

  expect(await check(host, { agents: [order(working)] })).toMatchObject({ fits: true, turns: 1 });
  const changed = order(async (turn) => {
    await turn.text("One moment.");
    await turn.tool(charge, {});
  });
  expect(await check(host, { agents: [changed] })).toMatchObject({
    misfits: [{ expected: "call count {}", found: "call charge {}" }],
  });
  expect(done).toEqual([]);
});

test("code behind the last step of the log does not run", async () => {
  const seen: string[] = [];
  // The outcome of the effect is in the log, and the turn has not ended.
  const stuck = order(async (turn) => {
    await turn.effect("count", () => 1);
    seen.push("behind");
    await new Promise(() => {});
  });
  const host = new TestHost({ agents: [stuck] });
  void host.runtime.process("order", chat);
  await host.environment.idle();
  expect(seen.splice(0)).toEqual(["behind"]);
  expect(await check(host, { agents: [stuck] })).toMatchObject({ fits: true, turns: 1 });
  expect(seen).toEqual([]);
});

test.each<[string, Handler]>([
  ["never comes to the end of its log", () => new Promise(() => {})],
  [
    "waits without end between two steps",
    (turn) => turn.text("One moment.").then(() => new Promise(() => {})),
  ],
])("a turn whose code %s is undecided, or held if a server would hold it", async (_what, handler) => {
  const asking = order(async (turn) => {
    await turn.text("One moment.");
    await turn.waitForInput({ ok: "?" });
  });
  for (const [before, expected] of [
    [asking, { outcome: "undecided", message: "the code did not come to the end of its log within 50 ms" }],
    [order(first), { outcome: "held", expected: 'call book {"seat":"1A"}', found: "nothing" }],
  ] as const) {
    const host = new TestHost({ agents: [before] });
    await host.ask("order", chat);
    const { fits, misfits } = await check(host, { agents: [order(handler)], limitMs: 50 });
    expect(fits).toBe(false);
    expect(misfits).toMatchObject([expected]);
  }
});

test("turns that have ended are replayed up to their ends", async () => {
  const host = new TestHost({ agents: [order(first), other] });
  for (const [index, request_id] of (["a", "b", "c"] as RequestId[]).entries()) {
    await host.ask("order", { ...chat, request_id });
    if (index < 2) await host.ask("order", { ...answer, request_id });
    else await host.ask("order", { type: "CancelRequest", request_id });
  }
  await host.ask("order", { ...chat, request_id: "open" });
  done.length = 0;
  const checkEnded = (agent: Agent): Promise<LogCheck> => check(host, { agents: [agent], finished: 100 });
  expect(await checkEnded(order(first))).toMatchObject({ fits: true, turns: 3 });
  expect(await check(host, { agents: [order(first)], finished: 2 })).toMatchObject({ turns: 2 });
  const changed = order(async (turn) => {
    await first(turn);
    await turn.text("Thanks.");
  });
  expect(await checkEnded(changed)).toMatchObject({ fits: true, turns: 3 });
  expect(await checkEnded(order((turn) => turn.text("One minute.")))).toMatchObject({
    fits: false,
    misfits: [{ expected: 'text "One moment."', found: 'text "One minute."', runIds: { length: 3 } }],
  });
  expect(done).toEqual([]);
});

test("the memory of a turn that has ended is that of its start", async () => {
  const counting = order(async (turn) => {
    const before = Number(turn.memory.get() ?? 0);
    turn.memory.set(before + 1);
    await turn.text(`turn ${before}`);
    await turn.waitForInput({ ok: "?" });
  });
  const host = new TestHost({ agents: [counting] });
  for (const request_id of ["a", "b", "c"] as RequestId[]) {
    await host.ask("order", {
      ...chat,
      request_id,
      ...(request_id !== "a" && { run_id: await runOf(host) }),
    });
    await host.ask("order", { ...answer, request_id });
  }
  expect(await check(host, { agents: [counting], finished: 9 })).toMatchObject({
    fits: true,
    turns: 3,
  });
});

async function runOf(host: TestHost) {
  return (await host.runtime.status("a")).run_id;
}

test("the actors of a machine are not started by the check", async () => {
  const machine = createMachine({
    initial: "closed",
    states: {
      closed: { on: { chat: "busy" } },
      busy: {
        type: "parallel",
        states: {
          asks: { tags: ["wait"], meta: { request_keys: { ok: "Open?" } } },
          listens: { invoke: { src: "listen" } },
          charges: { invoke: { src: "charge" } },
        },
      },
    },
  }).provide({
    actors: {
      listen: fromCallback(() => void done.push("listening")),
      charge: fromPromise(() => {
        done.push("charged");
        return new Promise(() => {});
      }),
    },
  });
  const agent = fromMachine({ name: "order", purpose: "Asks.", machine, effect: "idempotent" });
  const host = new TestHost({ agents: [agent] });
  done.length = 0;
  await host.ask("order", chat);
  expect(done.splice(0)).toEqual(["listening", "charged"]);
  expect(await check(host, { agents: [agent] })).toMatchObject({ fits: true, turns: 1 });
  expect(done).toEqual([]);
});

test("a turn that only another version continues is counted as such", async () => {
  const host = new TestHost({ agents: [order(first, "1")] });
  await host.ask("order", chat);
  const next = order((turn) => turn.waitForInput({ ok: "Fine?" }), "2");
  expect(await check(host, { agents: [next, order(first, "1")] })).toMatchObject({
    fits: true,
    agents: [{ fits: 0, older: 1, held: 0 }],
  });
});
