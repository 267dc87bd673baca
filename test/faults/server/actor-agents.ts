import { agentActor, askActor, defineAgent, fromMachine, operation } from "troupe";
import type { ActorAddress, Agent, Operation } from "troupe";
import { assign, setup } from "xstate";
import { z } from "zod";
import { createTalker } from "../../laws/talkers.ts";

/** The agent that does one part of something. */
export type PartAgent = Agent<{
  readonly part: Operation<{ readonly part: string }, { readonly made: string }>;
}>;

/** The last line that a listener waits for. */
export const LAST_LINE = "end";

/** Creates the agents whose turns ask, tell and wait for other actors. */
export function createActorAgents(child: PartAgent): readonly Agent[] {
  return [desk, visitor, listener, planner, createTalker(0.02), createCollector(child)] as readonly Agent[];
}

/** An actor that other turns ask and tell. */
const desk = defineAgent({
  name: "desk",
  purpose: "Counts its notes.",
  operations: (own) => ({
    note: own({
      input: z.object({ text: z.string() }),
      async run({ text }, turn): Promise<number> {
        const count = ((turn.memory.get() as number | undefined) ?? 0) + 1;
        await turn.text(text);
        turn.memory.set(count);
        return count;
      },
    }),
  }),
});

const visitor = defineAgent({
  name: "visitor",
  purpose: "Asks and tells desks, which other visitors use too.",
  async chat(input, turn) {
    const at = (key: number): ActorAddress<typeof desk.operations> => turn.actor(desk, `desk-${key}`);
    const first = input.length % 3;
    await turn.tell(at(first), "note", { text: `${input}/told` });
    const both = await Promise.all(
      [0, 1].map((more) => turn.ask(at((first + more) % 3), "note", { text: `${input}/${more}` })),
    );
    await turn.text(`${both.join(" ")}\n`);
    // Nothing waits for this one, so it is canceled at the end.
    void turn.ask(at((first + 2) % 3), "note", { text: `${input}/left` });
  },
});

const listener = defineAgent({
  name: "listener",
  purpose: "Says the lines that it is sent.",
  messages: { line: z.string() },
  async chat(_, turn) {
    for (;;) {
      const line = await turn.receive("line");
      const lines = [line, ...turn.received("line")];
      for (const one of lines) await turn.text(`${one}\n`);
      if (lines.includes(LAST_LINE)) return;
    }
  },
});

const planner = defineAgent({
  name: "planner",
  purpose: "Has notes sent to a desk later.",
  async chat(input, turn) {
    for (const afterMs of [5, 40]) {
      const text = `${input}/${afterMs}`;
      await turn.schedule(turn.actor(desk, "desk-0"), "note", { text }, { afterMs });
      await turn.text(`${text}\n`);
    }
  },
});

/** Creates a state machine that calls an agent and asks a desk, and takes items from outside until a person ends it. */
function createCollector(child: PartAgent): Agent {
  const machine = setup({
    types: {
      context: {} as { readonly input: string; readonly items: readonly string[] },
      events: {} as
        | { readonly type: "chat"; readonly input: string }
        | { readonly type: "add"; readonly item: string }
        | { readonly type: "resume" },
    },
    actors: { part: agentActor(child, "part"), note: askActor(desk, "note") },
    actions: {
      add: assign({
        items: ({ context, event }) =>
          event.type === "add" ? [...context.items, event.item] : context.items,
      }),
    },
    delays: { pause: 20 },
  }).createMachine({
    context: { input: "", items: [] },
    initial: "idle",
    states: {
      idle: {
        on: { chat: { target: "working", actions: assign({ input: ({ event }) => event.input }) } },
      },
      working: {
        type: "parallel",
        on: { add: { actions: "add" } },
        onDone: "asking",
        states: {
          calls: {
            initial: "calling",
            states: {
              calling: {
                invoke: { src: "part", input: { part: "machine" }, onDone: "over", onError: "over" },
              },
              over: { type: "final" },
            },
          },
          asks: {
            initial: "asking",
            states: {
              asking: {
                invoke: {
                  src: "note",
                  input: ({ context }) => ({ actor: "desk-1", input: { text: `${context.input}/machine` } }),
                  onDone: "pausing",
                  onError: "pausing",
                },
              },
              pausing: { after: { pause: "over" } },
              over: { type: "final" },
            },
          },
        },
      },
      asking: {
        tags: "wait",
        meta: { request_keys: { go: "Go on?" } },
        on: { resume: "done", add: { actions: "add" } },
      },
      done: { type: "final" },
    },
    output: ({ context }) => ({ items: context.items }),
  });
  return fromMachine({
    name: "collector",
    purpose: "Takes items until a person ends it.",
    machine,
    operations: { add: operation({ input: z.object({ item: z.string() }) }) },
  }) as Agent;
}
