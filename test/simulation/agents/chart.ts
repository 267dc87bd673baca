import { agentActor, askActor, defineAgent, fromMachine, operation } from "troupe";
import type { Agent } from "troupe";
import { assign, setup } from "xstate";
import { z } from "zod";
import type { Performer } from "../../laws/agents.ts";
import { TALKERS } from "../../laws/talkers.ts";

/** The keys of the runs of the state machine. */
export const CHARTS = ["x", "y"] as const;

/** What opens the machine: the program of the agent that it calls. */
const opening = z.object({ program: z.number() });
const note = z.object({ number: z.number() });

/**
 * A state machine that calls an agent and asks an actor at the same time, then waits for a person, and takes notes from
 * outside until it ends.
 */
export function createChart(performer: Performer, talker: Agent): Agent {
  const machine = setup({
    types: {
      context: {} as { readonly program: number; readonly notes: readonly number[] },
      events: {} as
        | ({ readonly type: "open" } & z.infer<typeof opening>)
        | ({ readonly type: "note" } & z.infer<typeof note>)
        | { readonly type: "abort" }
        | { readonly type: "resume" },
    },
    actors: {
      part: agentActor(performer, "perform", {
        retry: { attempts: 2, backoffMs: 300, on: ["tool_error"] },
      }),
      talk: askActor(talker, "talk" as never),
    },
    actions: {
      note: assign({
        notes: ({ context, event }) =>
          event.type === "note" ? [...context.notes, event.number] : context.notes,
      }),
    },
    delays: { pause: 700, patience: 20_000 },
  }).createMachine({
    context: { program: 0, notes: [] },
    initial: "idle",
    states: {
      idle: {
        on: {
          open: { target: "working", actions: assign({ program: ({ event }) => event.program }) },
        },
      },
      working: {
        type: "parallel",
        on: { note: { actions: "note" }, abort: "aborted" },
        onDone: "asking",
        states: {
          talks: {
            initial: "talking",
            states: {
              talking: {
                invoke: {
                  src: "talk",
                  input: ({ context: { program } }) => ({
                    actor: TALKERS[program % TALKERS.length] ?? "a",
                    input: { program, depth: 1 } as never,
                  }),
                  onDone: "pausing",
                  onError: "pausing",
                },
              },
              pausing: { after: { pause: "over" } },
              over: { type: "final" },
            },
          },
          calls: {
            initial: "calling",
            states: {
              calling: {
                invoke: {
                  src: "part",
                  input: ({ context: { program } }) => ({ program }),
                  onDone: "over",
                  onError: "over",
                },
              },
              over: { type: "final" },
            },
          },
        },
      },
      asking: {
        tags: "wait",
        meta: { request_keys: { go: "Go on?" } },
        on: { resume: "done", note: { actions: "note" }, abort: "aborted" },
        after: { patience: "done" },
      },
      done: { type: "final" },
      aborted: { type: "final" },
    },
    output: ({ context }) => ({ notes: context.notes }),
  });
  return fromMachine({
    name: "chart",
    purpose: "Works, and takes notes until it ends.",
    machine,
    operations: {
      open: operation({ input: opening }),
      note: operation({ input: note }),
      abort: operation({}),
    },
  }) as Agent;
}

/** An agent whose turns ask and tell the state machine to take notes. */
export function createNoter(chart: Agent): Agent {
  return defineAgent({
    name: "noter",
    purpose: "Gives notes to the state machine.",
    operations: {
      give: operation({
        input: z.object({ key: z.enum(CHARTS), numbers: z.array(z.number()) }),
        async run({ key, numbers }, turn) {
          for (const number of numbers) {
            const send = number % 2 === 0 ? turn.ask : turn.tell;
            await send
              .call(turn, turn.actor(chart, key), "note" as never, { number } as never)
              .catch(() => {});
            await turn.sleep(300);
          }
          return null;
        },
      }),
    },
  });
}
