import { defineAgent, defineTool, fromMachine } from "troupe";
import type { Agent, Turn } from "troupe";
import type { Event, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import * as z from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** What the tool has done. */
const done: string[] = [];

const book = defineTool({
  name: "book",
  description: "Books.",
  input: z.object({ seat: z.string() }),
  run({ seat }) {
    done.push(seat);
    return `booked ${seat}`;
  },
});

type Handler = (turn: Turn) => Promise<string>;

function order(handler: Handler, version = "1"): Agent {
  return defineAgent({
    name: "order",
    purpose: "Takes an order.",
    version,
    chat: async (_input, turn) => handler(turn),
  });
}

/** Books twice, at a time that is in the log, and asks with this key between. */
function asking(key: string): Handler {
  return async (turn) => {
    const at = turn.now();
    const first = await turn.tool(book, { seat: "1A" });
    await turn.text("Nearly.");
    const { [key]: ok } = await turn.waitForInput({ [key]: "Is it right?" });
    const second = await turn.tool(book, { seat: "2B" });
    return JSON.stringify([at, first, ok, second]);
  };
}

const before = order(asking("ok"));
const after = order(asking("fine"), "2");

/** A run that waits, has been forked, and what the fork is. */
async function forkAtWait(host: TestHost): Promise<{ readonly runId: RunId; readonly forked: RunId }> {
  const { run_id: runId } = await host.runtime.status(asked);
  const [wait] = ofType(await host.events(asked), "WaitForInput");
  const forking = host.runtime.fork(runId, { waitId: wait?.id ?? 0 });
  forking.catch(() => {});
  await host.environment.idle();
  return { runId, forked: await forking };
}

test("a held turn that is forked at its question is continued there by the new code, which asks anew", async () => {
  done.length = 0;
  const host = new TestHost({ agents: [before] });
  await host.ask("order", chat);
  await host.restart([after]);
  const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;
  await host.ask("order", answer);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "held" });

  const { runId, forked } = await forkAtWait(host);
  expect(await host.runtime.run(forked)).toMatchObject({
    status: "waiting",
    open_waits: 1,
    forked_from: { run_id: runId },
  });
  const events = await host.events(forked);
  const [wait] = ofType(events, "WaitForInput");
  expect(wait).toMatchObject({ request_keys: { fine: "Is it right?" } });
  const [start] = ofType(events, "RequestStarted");
  expect(start).toMatchObject({ agent_version: "2", run_id: forked, forked_from: { run_id: runId } });
  expect(start?.request_id).not.toBe(asked);
  expect(done).toEqual(["1A"]);

  await host.restart();
  await host.ask("order", { type: "ResumeWithInput", run_id: forked, request_keys: { fine: "yes" } });
  const [end] = ofType(await host.events(forked), "RequestCompleted");
  const [booked] = ofType(await host.events(asked), "ToolResult");
  expect(end).toMatchObject({ finish_reason: "success" });
  const [at, ...rest] = JSON.parse(end?.result ?? "[]") as readonly unknown[];
  expect(rest).toEqual(["booked 1A", "yes", "booked 2B"]);
  expect(at).toBeLessThanOrEqual(Date.parse(booked?.ts ?? ""));
  expect(done).toEqual(["1A", "2B"]);
  // The other run is as it was, and has its answer when fitting code is back.
  expect(await host.runtime.status(asked)).toMatchObject({ status: "held" });
  await host.restart([before]);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success" });
  expect(host.faults).toEqual([]);
});

test("a fork at a question has the turns before and their memory, and may be forked again", async () => {
  const counting = order(async (turn) => {
    const count = (turn.memory.get() as number | undefined) ?? 0;
    turn.memory.set(count + 1);
    if (count === 0) return "first";
    const { ok } = await turn.waitForInput({ ok: "?" });
    return `${count} ${JSON.stringify(ok)}`;
  });
  const host = new TestHost({ agents: [counting] });
  await host.ask("order", { type: "ChatRequest", input: "", request_id: "earlier" });
  const { run_id: run } = await host.runtime.status("earlier");
  await host.ask("order", { ...chat, run_id: run });
  const { forked } = await forkAtWait(host);
  const [wait] = ofType(await host.events(forked), "WaitForInput");
  const forking = host.runtime.fork(forked, { waitId: wait?.id ?? 0 });
  await host.environment.idle();
  const again = await forking;
  for (const runId of [forked, again, run]) {
    await host.ask("order", { type: "ResumeWithInput", run_id: runId, request_keys: { ok: runId } });
    const ends = ofType(await host.events(runId), "RequestCompleted").map(({ result }) => result);
    expect(ends).toEqual(["first", `1 "${runId}"`]);
  }
});

test("a turn that continues an earlier one of its request is forked at its question, with what the earlier one has kept", async () => {
  const loop = (key: string, version: string): Agent =>
    defineAgent({
      name: "order",
      purpose: "Asks in a turn after the first.",
      version,
      chat: async (_input, turn) => {
        turn.memory.set("kept");
        await turn.text("First.");
        return turn.continueAs("ask", { from: "the first" });
      },
      operations: {
        ask: {
          description: "Asks.",
          input: z.object({ from: z.string() }),
          async run({ from }, turn) {
            const seat = await turn.tool(book, { seat: "3C" });
            const { [key]: ok } = await turn.waitForInput({ [key]: "Is it right?" });
            return JSON.stringify([turn.memory.get(), from, seat, ok]);
          },
        },
      },
    });
  done.length = 0;
  const host = new TestHost({ agents: [loop("ok", "1")] });
  await host.ask("order", chat);
  await host.restart([loop("fine", "2")]);
  const { forked } = await forkAtWait(host);
  const events = await host.events(forked);
  expect(ofType(events, "WaitForInput")).toMatchObject([{ request_keys: { fine: "Is it right?" } }]);
  expect(ofType(events, "TextOutput")).toMatchObject([{ content: "First." }]);
  expect(await host.runtime.run(forked)).toMatchObject({ last_turn: { agent_version: "2" } });
  await host.restart();
  await host.ask("order", { type: "ResumeWithInput", run_id: forked, request_keys: { fine: "yes" } });
  const [end] = ofType(await host.events(forked), "RequestCompleted");
  expect(end).toMatchObject({ finish_reason: "success", result: '["kept","the first","booked 3C","yes"]' });
  expect(done).toEqual(["3C"]);
  expect(host.faults).toEqual([]);
});

const TYPES = {
  context: {} as { readonly count: number },
  events: {} as { readonly type: "chat" } | { readonly type: "resume"; readonly ok: string },
};

test("a machine that has checkpoints is forked at a question, and the new chart asks it", async () => {
  const chart = (question: string, version: string): Agent =>
    fromMachine({
      name: "order",
      purpose: "Asks again and again.",
      version,
      machine: setup({ types: TYPES }).createMachine({
        initial: "idle",
        context: { count: 0 },
        states: {
          idle: { on: { chat: "asking" } },
          asking: {
            tags: ["wait"],
            meta: { request_keys: { ok: question } },
            on: {
              resume: [
                { guard: ({ event }) => event.ok === "end", target: "done" },
                {
                  target: "asking",
                  reenter: true,
                  actions: assign({ count: ({ context }) => context.count + 1 }),
                },
              ],
            },
          },
          done: { type: "final" },
        },
        output: ({ context }) => context.count,
      }),
    });
  const host = new TestHost({ agents: [chart("More?", "1")], limits: { checkpointEvents: 1 } });
  await host.ask("order", chat);
  const { run_id: runId } = await host.runtime.status(asked);
  const answer = async (run_id: RunId, ok: string): Promise<unknown> =>
    host.ask("order", { type: "ResumeWithInput", run_id, request_keys: { ok } });
  for (const ok of ["a", "b", "c"]) await answer(runId, ok);
  const { records } = await host.log.read(runId, { after: 0, records: true });
  expect(records.map(({ type }) => type)).toContain("Checkpoint");

  await host.restart([chart("Still more?", "2")]);
  const last = ofType(await host.events(asked), "WaitForInput").at(-1);
  const forking = host.runtime.fork(runId, { waitId: last?.id ?? 0 });
  await host.environment.idle();
  const forked = await forking;
  await host.restart();
  const waits = ofType(await host.events(forked), "WaitForInput");
  expect(waits.at(-1)).toMatchObject({ request_keys: { ok: "Still more?" } });
  expect(waits).toHaveLength(4);
  await answer(forked, "d");
  await answer(forked, "end");
  expect(ofType(await host.events(forked), "RequestCompleted")).toMatchObject([{ result: "4" }]);
  expect(host.faults).toEqual([]);
});

test("a fork at a question is continued by the code of its time or later, and by none from before", async () => {
  const one = defineAgent({
    name: "order",
    purpose: "Takes an order.",
    version: "1",
    compatible: ["2"],
    chat: async (_input, turn) => asking("ok")(turn),
  });
  const other = order(async (turn) => {
    await turn.text("This is not in the log.");
    return asking("fine")(turn);
  }, "2");
  const host = new TestHost({ agents: [one] });
  await host.ask("order", chat);
  await host.restart([other, one]);
  const { runId, forked } = await forkAtWait(host);
  expect(await host.runtime.run(forked)).toMatchObject({
    status: "held",
    last_turn: { held: { code: "nondeterministic", found: 'text "This is not in the log."' } },
  });
  await host.ask("order", { type: "ResumeWithInput", run_id: runId, request_keys: { ok: "yes" } });
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success" });
  await host.restart([after]);
  expect(await host.runtime.run(forked)).toMatchObject({
    status: "waiting",
    last_turn: { agent_version: "2" },
  });
});

test("a process that dies while a turn is forked leaves the whole fork, or none", async () => {
  let commits = 0;
  for (; ; commits += 1) {
    const host = new TestHost({ agents: [before] });
    await host.ask("order", chat);
    const { run_id: runId } = await host.runtime.status(asked);
    const [wait] = ofType(await host.events(asked), "WaitForInput");
    host.planFault({ after: commits, kind: "crash", written: commits % 2 === 0 });
    host.runtime.fork(runId, { waitId: wait?.id ?? 0 }).catch(() => {});
    await host.environment.idle();
    if (!host.crashed) break;
    await host.restart();
    const { runs } = await host.runtime.runs({ limit: 9 });
    for (const run of runs) {
      expect(run).toMatchObject({ status: "waiting", open_waits: 1 });
      const values = { type: "ResumeWithInput", run_id: run.run_id, request_keys: { ok: 1 } } as const;
      await host.ask("order", values);
      const [end] = ofType(await host.events(run.run_id), "RequestCompleted");
      expect(end).toMatchObject({ finish_reason: "success" });
    }
    expect(runs.length).toBeGreaterThan(0);
  }
  expect(commits).toBeGreaterThan(3);
});

test("a run cannot be forked at a question that has gone, or while another call of its turn is open", async () => {
  const never = defineTool({
    name: "never",
    description: "Never ends.",
    input: z.object({}),
    run: () => new Promise<string>(() => {}),
  });
  const both = order(async (turn) => {
    const call = turn.tool(never, {});
    await turn.waitForInput({ ok: "?" });
    return call;
  });
  const refuse = async (agent: Agent, waitOf: (events: readonly Event[]) => number): Promise<unknown> => {
    const host = new TestHost({ agents: [agent] });
    await host.ask("order", chat);
    const { run_id: runId } = await host.runtime.status(asked);
    const forking = host.runtime.fork(runId, { waitId: waitOf(await host.events(asked)) });
    const message = forking.then(String, (error: unknown) => (error as Error).message);
    await host.environment.idle();
    return message;
  };
  const first = (events: readonly Event[]): number => ofType(events, "WaitForInput")[0]?.id ?? 0;
  expect(await refuse(both, first)).toMatch(/at wait \d+: a call of its turn is open there/);
  expect(await refuse(before, () => 1)).toMatch(/at wait 1: it is no question/);
  expect(await refuse(before, () => 99)).toMatch(/at wait 99: it is no question/);
});
