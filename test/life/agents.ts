import { defineAgent, fromMachine, operation } from "troupe";
import { assign, setup } from "xstate";
import { z } from "zod";

/** Who is told of each step of the agents here, with the key of the actor; a step ends when it has heard of it. */
export const steps: { listener: (step: number, key: string | undefined) => void | Promise<void> } = {
  listener() {},
};

/** A chart that never ends by itself: it counts, and a delay is open all the time. */
export const chart = fromMachine({
  name: "chart",
  purpose: "Counts for ever.",
  operations: { add: operation({ input: z.object({ amount: z.number() }) }) },
  machine: setup({
    types: { context: {} as { readonly sum: number } },
    actions: {
      add: assign({
        sum: ({ context, event }) => context.sum + (event as unknown as { readonly amount: number }).amount,
      }),
    },
  }).createMachine({
    context: { sum: 0 },
    initial: "on",
    states: {
      on: { on: { add: { actions: "add" } }, after: { 2_000_000_000: "off" } },
      off: { type: "final" },
    },
  }),
});

/** Makes steps, each in a turn of its own. */
export const looper = defineAgent({
  name: "looper",
  purpose: "Goes on and on.",
  operations: {
    loop: operation({
      input: z.object({ step: z.number(), last: z.number() }),
      async run({ step, last }, turn): Promise<unknown> {
        await steps.listener(step, turn.self.key);
        turn.memory.set(step);
        await turn.text(`${step} `);
        return step < last ? turn.continueAs("loop", { step: step + 1, last }) : step;
      },
    }),
  },
});

const to = z.object({ to: z.number() });

/** Works in steps: each one tells the actor itself, or has a timer tell it, to make the next. */
export const walker = defineAgent({
  name: "walker",
  purpose: "Walks.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    walk: own({
      input: to,
      async run(input, turn) {
        const step = turn.memory.get() + 1;
        turn.memory.set(step);
        if (step < input.to) await turn.tell(turn.actor(walker, turn.self), "walk", input);
        await steps.listener(step, turn.self.key);
        return null;
      },
    }),
    beat: own({
      input: to,
      async run(input, turn) {
        const step = turn.memory.get() + 1;
        turn.memory.set(step);
        if (step < input.to)
          await turn.schedule(turn.actor(walker, turn.self), "beat", input, { afterMs: 100 });
        await steps.listener(step, turn.self.key);
        return null;
      },
    }),
    step: own({
      input: z.object({}),
      run(_input, turn): number {
        turn.memory.set(turn.memory.get() + 1);
        return turn.memory.get();
      },
    }),
    where: own({ input: z.object({}), run: (_input, turn): number => turn.memory.get() }),
  }),
});
