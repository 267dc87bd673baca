import { agentActor, askActor, defineAgent, fromMachine, operation } from "troupe";
import type { Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, fromPromise, setup } from "xstate";
import { z } from "zod";
import { ofType } from "../agents/events.ts";
import { TestHost, asked } from "../runtime/test-host.ts";
import { runsLong, shortened } from "../machine/long.ts";

const inner = setup({ actors: { deed: fromPromise(async () => 7) } }).createMachine({
  initial: "waiting",
  states: {
    waiting: { after: { 4_000: "doing" } },
    doing: { invoke: { src: "deed", onDone: "end" } },
    end: { type: "final" },
  },
});

const helper = defineAgent({
  name: "helper",
  purpose: "Says its input twice.",
  chat: (input) => `${input}${input}`,
});

/** Another actor, which counts how often it was asked. */
const counter = defineAgent({
  name: "counter",
  purpose: "Counts.",
  operations: (own) => ({
    count: own({
      input: z.object({}),
      async run(_input, turn): Promise<number> {
        const count = ((turn.memory.get() as number | undefined) ?? 0) + 1;
        turn.memory.set(count);
        return count;
      },
    }),
  }),
});

/** Regions, nested states, a machine inside the machine, actors, delays, a question, and operations from outside. */
const machine = setup({
  types: { context: {} as { readonly notes: readonly string[] } },
  actors: {
    inner,
    price: fromPromise(async () => 3),
    help: agentActor(helper, "chat"),
    count: askActor(counter, "count"),
  },
  actions: {
    result: assign({
      notes: ({ context, event }) => [
        ...context.notes,
        JSON.stringify((event as unknown as { readonly output: unknown }).output),
      ],
    }),
    note: assign({
      notes: ({ context, event }) => [
        ...context.notes,
        (event as unknown as { readonly text?: string }).text ?? event.type,
      ],
    }),
  },
}).createMachine({
  context: { notes: [] },
  initial: "open",
  states: {
    open: { on: { begin: { target: "working", actions: "note" } } },
    working: {
      type: "parallel",
      on: { note: { actions: "note" }, word: { actions: "note" } },
      onDone: "asking",
      states: {
        left: {
          initial: "pricing",
          states: {
            pricing: { invoke: { src: "price", onDone: { target: "pausing", actions: "note" } } },
            pausing: {
              initial: "short",
              states: {
                short: { after: { 1_000: "long" } },
                long: { after: { 2_000: "over" } },
                over: { type: "final" },
              },
              onDone: "done",
            },
            done: { type: "final" },
          },
        },
        others: {
          initial: "resting",
          states: {
            resting: { after: { 500: "calling" } },
            calling: {
              invoke: {
                src: "help",
                input: { input: "ab" },
                onDone: { target: "asking", actions: "result" },
              },
            },
            asking: {
              invoke: {
                src: "count",
                input: { actor: "shop", input: {} },
                onDone: { target: "over", actions: "result" },
              },
            },
            over: { type: "final" },
          },
        },
        right: {
          initial: "inside",
          states: { inside: { invoke: { src: "inner", onDone: "done" } }, done: { type: "final" } },
        },
      },
    },
    asking: {
      tags: "wait",
      meta: { request_keys: { ok: "End?" } },
      on: { resume: { target: "end", actions: "note" }, hint: { actions: "note" } },
    },
    end: { type: "final" },
  },
  output: ({ context }) => context,
});

const agent = fromMachine({
  name: "machine",
  purpose: "Does everything that a machine can do.",
  effect: "idempotent",
  machine,
  operations: { begin: operation({}), note: operation({ input: z.object({ text: z.string() }) }) },
  messages: { word: z.object({ text: z.string() }), hint: z.object({ text: z.string() }) },
});

const begin = {
  type: "OperationRequest",
  operation: "begin",
  input: {},
  request_id: asked,
  key: "k",
} as const;
const note = (text: string): Request => ({
  type: "OperationRequest",
  operation: "note",
  input: { text },
  request_id: `note-${text}`,
  key: "k",
});
const message = (name: "hint" | "word", text: string): Request => ({
  type: "Message",
  name,
  body: { text },
  request_id: `${name}-${text}`,
  key: "k",
});
const answer = {
  type: "ResumeWithInput",
  request_id: asked,
  request_keys: { ok: true },
  resume_id: "answer",
} as const;

interface Retention {
  readonly checkpointEvents?: number;
  readonly retainMs?: number;
}

interface Played {
  readonly states: readonly unknown[];
  readonly output: unknown;
  readonly commits: number;
}

/** Plays the machine to its end; the process dies at a commit, before or after it is written. */
async function play(
  commit: number,
  written: boolean,
  { checkpointEvents = 500, retainMs }: Retention = {},
): Promise<Played> {
  const host = new TestHost({
    agents: [agent, helper, counter],
    limits: { checkpointEvents },
    ...(retainMs !== undefined && { retainMs }),
    commitFaults: [{ commit, kind: "crash", written }],
  });
  const revive = async (): Promise<void> => {
    if (host.crashed) await host.restart();
  };
  // A process that dies gives no answer, so each request is sent again.
  const send = async (request: Request): Promise<void> => {
    for (let time = 0; time < 2; time += 1) {
      host.runtime.process("machine", request).catch(() => {});
      await host.environment.idle();
      await revive();
    }
  };
  const pass = async (ms: number): Promise<void> => {
    await host.environment.advance(ms);
    await revive();
    await host.environment.advance(0);
  };
  // It is read when the machine has begun.
  await send(message("word", "early"));
  await send(begin);
  // It is read only in the last state.
  await send(message("hint", "late"));
  await send(note("one"));
  await send(message("word", "now"));
  await pass(600);
  await pass(400);
  await send(note("two"));
  await pass(2_000);
  await pass(1_000);
  await send(answer);
  const events = await host.events(asked);
  const states = ofType(events, "StateChanged").map(({ value, cause, steps, status }) => ({
    value,
    cause,
    steps,
    status,
  }));
  const end = events.at(-1);
  return { states, output: end?.type === "RequestCompleted" ? end.output : end, commits: host.commits };
}

/** The process dies at each commit; without the long tests at each fifth. */
const EVERY = runsLong ? 1 : 5;

test.each(
  shortened(
    [
      { when: "", checkpointEvents: 500 },
      { when: ", with a checkpoint at almost every commit", checkpointEvents: 1 },
      { when: ", with a checkpoint now and then", checkpointEvents: 7 },
    ],
    1,
  ),
)(
  "a machine that is crashed at any commit shows the states of one that never crashed$when",
  async ({ checkpointEvents }) => {
    const { commits, ...calm } = await play(0, true, { checkpointEvents });
    expect(calm.output).toEqual({
      notes: [
        "begin",
        "early",
        "xstate.done.actor.0.(machine).working.left.pricing",
        "one",
        "now",
        '{"output":"abab"}',
        "1",
        "two",
        "late",
        "resume",
      ],
    });
    for (let commit = 1; commit <= commits; commit += EVERY) {
      for (const written of [false, true]) {
        const { states, output } = await play(commit, written, { checkpointEvents });
        expect({ states, output }, `crashed at commit ${commit}, written: ${written}`).toEqual(calm);
      }
    }
  },
);

test(
  "a machine whose beginning retention removes goes on as one that keeps it, crashed at any commit",
  { tags: "long" },
  async () => {
    const calm = await play(0, true);
    const retention = { checkpointEvents: 1, retainMs: 1 };
    const { commits, states: left } = await play(0, true, retention);
    expect(left).toEqual(calm.states.slice(-left.length));
    expect(left.length).toBeLessThan(calm.states.length / 2);
    for (let commit = 1; commit <= commits; commit += EVERY) {
      for (const written of [false, true]) {
        const { states, output } = await play(commit, written, retention);
        const expected = { output: calm.output, states: calm.states.slice(-states.length) };
        expect({ output, states }, `crashed at commit ${commit}, written: ${written}`).toEqual(expected);
      }
    }
  },
);
