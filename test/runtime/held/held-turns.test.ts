import { defineAgent, defineTool, fromMachine } from "troupe";
import type { Agent, Turn } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import * as z from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** What the effects of the agents have done. */
const done: string[] = [];

const book = defineTool({
  name: "book",
  description: "Books.",
  input: z.object({ seat: z.string() }),
  run: ({ seat }) => void done.push(`booked ${seat}`),
});

type Handler = (turn: Turn) => Promise<string>;

function order(handler: Handler, options: { readonly version?: string } = {}): Agent {
  return defineAgent({
    name: "order",
    purpose: "Takes an order.",
    ...options,
    chat: async (_input, turn) => handler(turn),
  });
}

const other = defineAgent({ name: "other", purpose: "Is served, too.", chat: () => "Hello." });

/** The code that begins the turns of these tests. */
const first: Handler = async (turn) => {
  await turn.text("One moment.");
  await turn.tool(book, { seat: "1A" });
  const { ok } = await turn.waitForInput({ ok: "Is it right?" });
  return `ok: ${JSON.stringify(ok)}`;
};

const answer = {
  type: "ResumeWithInput",
  request_id: asked,
  request_keys: { ok: true },
} as const;

/** Other code of the agent, by what is changed. */
const changed: Readonly<Record<string, readonly Agent[]>> = {
  "a text before the wait": [
    order(async (turn) => {
      await turn.text("One minute.");
      return first(turn);
    }),
  ],
  "a call that was added": [
    order(async (turn) => {
      await turn.text("One moment.");
      await turn.tool(book, { seat: "1A" });
      await turn.tool(book, { seat: "1B" });
      const { ok } = await turn.waitForInput({ ok: "Is it right?" });
      return `ok: ${JSON.stringify(ok)}`;
    }),
  ],
  "a call that was removed": [
    order(async (turn) => {
      await turn.text("One moment.");
      const { ok } = await turn.waitForInput({ ok: "Is it right?" });
      return `ok: ${JSON.stringify(ok)}`;
    }),
  ],
  "another question": [
    order(async (turn) => {
      await turn.text("One moment.");
      await turn.tool(book, { seat: "1A" });
      const { fine } = await turn.waitForInput({ fine: "Is it fine?" });
      return `fine: ${JSON.stringify(fine)}`;
    }),
  ],
  "code that throws before the wait": [
    order(async (turn) => {
      await turn.text("One moment.");
      throw new TypeError("undefined is not a function");
    }),
  ],
  "another version": [order(first, { version: "2" })],
  "no such agent": [other],
};

async function waitingHost(): Promise<TestHost> {
  done.length = 0;
  const host = new TestHost({ agents: [order(first), other] });
  await host.ask("order", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  return host;
}

const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type);

test.each(Object.keys(changed))(
  "a waiting turn is held when its answer meets %s, keeps the answer, and continues after the rollback",
  async (what) => {
    const host = await waitingHost();
    const before = typesOf(await host.events(asked));

    await host.restart(changed[what]);
    const receipt = await host.ask("order", answer);
    expect(JSON.parse(receipt.event ?? "{}")).toMatchObject({ type: "ResumeWithInput" });
    const status = await host.runtime.status(asked);
    expect(status).toMatchObject({ status: "held", held: { since: expect.any(String) as string } });
    expect(status.request_keys).toBeUndefined();
    const held = typesOf(await host.events(asked));
    expect(held).toEqual([...before, "RequestHeld", "ResumeWithInput"]);
    expect(done).toEqual(["booked 1A"]);

    await host.restart();
    expect(typesOf(await host.events(asked))).toEqual(held);

    await host.restart([order(first), other]);
    expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", result: "ok: true" });
    expect(typesOf(await host.events(asked))).toEqual([...held, "RequestContinued", "RequestCompleted"]);
    expect(done).toEqual(["booked 1A"]);
    expect(host.faults).toEqual([]);
  },
);

test("the reason says where the code differs from the log, and where in the file", async () => {
  const host = await waitingHost();
  await host.restart(changed["another question"]);
  await host.ask("order", answer);
  const [held] = ofType(await host.events(asked), "RequestHeld");
  expect(held).toMatchObject({
    code: "nondeterministic",
    scope: "c1",
    expected: 'wait for {"ok":"Is it right?"}',
    found: 'wait for {"fine":"Is it fine?"}',
    at: expect.stringMatching(/^held\/held-turns\.test\.ts:\d+$/) as string,
  });
});

test("a turn that sleeps or works when other code is served is held, not ended", async () => {
  const sleeper = order(async (turn) => {
    await turn.sleep(60_000);
    return "rested";
  });
  const host = new TestHost({ agents: [sleeper] });
  await host.ask("order", chat);
  await host.restart([
    order(async (turn) => {
      await turn.sleep(30_000);
      return "rested less";
    }),
  ]);
  await host.environment.advance(60_000);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    held: { expected: "sleep of 60000 ms", found: "sleep of 30000 ms" },
  });
  expect(host.environment.timers).toBe(0);
  await host.restart([sleeper]);
  await host.environment.advance(1);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", result: "rested" });
});

test("what other code does in a branch before it is found out has no effect", async () => {
  done.length = 0;
  const host = new TestHost({
    agents: [
      order(async (turn) => {
        await turn.all([
          (one) => one.waitForInput({ left: "?" }),
          async (two) => {
            await two.effect("count", () => void done.push("count"));
            await two.waitForInput({ right: "?" });
          },
        ]);
        return "both";
      }),
    ],
  });
  await host.ask("order", chat);
  const { length } = await host.events(asked);
  await host.restart([
    order(async (turn) => {
      await turn.all([
        async (one) => {
          await one.waitForInput({ left: "?" });
          await one.effect("more", () => void done.push("more"));
        },
        async (two) => {
          await two.effect("count", () => void done.push("count"));
          await two.text("Other code.");
          await two.waitForInput({ right: "?" });
        },
      ]);
      return "both";
    }),
  ]);
  const [wait] = ofType(await host.events(asked), "WaitForInput");
  await host.ask("order", { ...answer, wait_id: wait?.id ?? 0, request_keys: { left: 1 } });
  const events = await host.events(asked);
  expect(typesOf(events.slice(length))).toEqual(["RequestHeld", "ResumeWithInput"]);
  expect(done).toEqual(["count"]);
});

test("a request whose agent was removed while it was queued is held, and runs when it is served again", async () => {
  const host = await waitingHost();
  const queued = "queued" as RequestId;
  const { run_id: runId } = await host.runtime.status(asked);
  await host.ask("order", {
    type: "ChatRequest",
    input: "",
    run_id: runId,
    request_id: queued,
    on_busy: "enqueue",
  });
  await host.restart([other]);
  await host.ask("order", { type: "CancelRequest", request_id: asked });
  expect(await host.runtime.status(queued)).toMatchObject({
    status: "held",
    held: { code: "agent_missing" },
  });
  await host.restart([order(async () => "later", { version: "7" })]);
  expect(await host.runtime.status(queued)).toMatchObject({ finish_reason: "success", result: "later" });
});

test("a cancel ends a held turn, and an operator can end it with its reason", async () => {
  for (const end of ["cancel", "end"] as const) {
    const host = await waitingHost();
    await host.restart([other]);
    await host.ask("order", answer);
    const { run_id: runId } = await host.runtime.status(asked);
    if (end === "cancel") await host.ask("order", { type: "CancelRequest", request_id: asked });
    else void host.runtime.as({ id: "ops", owner: "ops", roles: ["operator"] }).endHeld(runId);
    await host.environment.idle();
    const ended = (await host.events(asked)).find((event) => event.type === "RequestCompleted");
    expect(ended?.by).toEqual(end === "end" ? { id: "ops" } : undefined);
    expect(await host.runtime.status(asked)).toMatchObject(
      end === "cancel"
        ? { finish_reason: "canceled" }
        : { finish_reason: "error", error: { code: "agent_missing" } },
    );
    expect((await host.runtime.run(runId)).status).toBe("idle");
    expect((await host.runtime.run(runId)).last_turn?.held).toBeUndefined();
  }
});

test("a retry tries a held turn again also in the process that has tried all of its code", async () => {
  let isChanged = false;
  const host = new TestHost({
    agents: [
      order(async (turn) => {
        if (isChanged) await turn.text("One minute.");
        return first(turn);
      }),
    ],
  });
  await host.ask("order", chat);
  isChanged = true;
  await host.restart();
  await host.ask("order", answer);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "held" });
  isChanged = false;
  expect(await host.runtime.retryHeld()).toBe(1);
  await host.environment.idle();
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", result: "ok: true" });
});

test("held turns are listed and counted by agent and reason", async () => {
  const host = await waitingHost();
  await host.restart([other]);
  await host.ask("order", answer);
  const { runs } = await host.runtime.runs({ status: "held", limit: 9 });
  expect(runs).toMatchObject([
    { agent: "order", status: "held", open_waits: 0, last_turn: { held: { code: "agent_missing" } } },
  ]);
  expect(await host.runtime.countHeld()).toEqual([{ agent: "order", code: "agent_missing", turns: 1 }]);
});

test("an answer that a held turn cannot take is refused", async () => {
  const host = await waitingHost();
  await host.restart([other]);
  const wrong = host.runtime.process("order", { ...answer, request_keys: { wrong: 1 } });
  wrong.catch(() => {});
  await host.environment.idle();
  await expect(wrong).rejects.toMatchObject({ code: "unprocessable" });
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    request_keys: { ok: "Is it right?" },
  });
});

test("an answer given while a turn was held that its code does not take holds it again", async () => {
  const strict = (schema: z.ZodType): Agent =>
    order(async (turn) => `seats: ${JSON.stringify(await turn.waitForInput(schema))}`);
  const host = new TestHost({ agents: [strict(z.object({ seats: z.number() }))] });
  await host.ask("order", chat);
  await host.restart([other]);
  await host.ask("order", { ...answer, request_keys: { seats: 12 } });
  await host.restart([strict(z.object({ seats: z.number().max(9) }))]);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    held: { code: "nondeterministic" },
  });
  await host.restart([strict(z.object({ seats: z.number().max(20) }))]);
  expect(await host.runtime.status(asked)).toMatchObject({ result: 'seats: {"seats":12}' });
});

test("the answer of an actor to a turn that is held is kept, and nothing is sent again", async () => {
  const desk = defineAgent({
    name: "desk",
    purpose: "Answers when it is asked.",
    async chat(_input, turn) {
      const { word } = await turn.waitForInput({ word: "Which?" });
      return `word ${JSON.stringify(word)}`;
    },
  });
  const asking = (text: string): Agent =>
    order(async (turn) => {
      await turn.text(text);
      const { output } = await turn.ask(turn.actor(desk, "front"), "chat", { input: "?" });
      return output;
    });
  const host = new TestHost({ agents: [asking("first"), desk] });
  await host.ask("order", chat);
  await host.environment.advance(2_000);
  const [call] = ofType(await host.events(asked), "ToolCall");
  const theirs = call?.callee?.request_id ?? asked;

  // An answer is what first tries the changed code.
  await host.restart([asking("second"), desk]);
  await host.ask("desk", { ...answer, request_id: theirs, request_keys: { word: "yes" } });
  await host.environment.advance(60_000);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "held" });
  expect(await host.log.outbox({})).toEqual([]);
  expect(host.environment.timers).toBe(0);
  await host.restart([asking("first"), desk]);
  expect(await host.runtime.status(asked)).toMatchObject({ result: 'word "yes"' });
});

/** A machine that asks in a state of this name, with this context. */
function door(state: string, context: object = {}): Agent {
  return fromMachine({
    name: "order",
    purpose: "Asks in a state.",
    operations: {},
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

test.each([
  ["a state that was renamed", door("questioning"), /State 'asking' does not exist/],
  ["a field that its context did not have", door("asking", { opened: 0 }), /the field opened/],
])("a machine is held for %s, and continues after the rollback", async (_what, after, message) => {
  const host = new TestHost({ agents: [door("asking")] });
  await host.ask("order", chat);
  await host.restart([after]);
  await host.ask("order", answer);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "held",
    held: { code: "snapshot_mismatch", message: expect.stringMatching(message) as string },
  });
  const { length } = await host.events(asked);
  await host.restart();
  expect(await host.events(asked)).toHaveLength(length);
  await host.restart([door("asking")]);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "completed", finish_reason: "success" });
});
