import type { Agent, Runtime } from "troupe";
import { chart, looper, steps, walker } from "./agents.ts";

/** A way of an actor to get older. */
export interface Life {
  readonly name: string;
  readonly agent: string;
  /** Has the actor with a key get so many messages, or make so many steps, from an age on. */
  live(runtime: Runtime, key: string, messages: Messages): Promise<void>;
  /** Asks the actor something, which needs what it has kept. */
  ask(runtime: Runtime, key: string): Promise<unknown>;
}

/** The messages of a part of a life. */
export interface Messages {
  /** How many it has got before. */
  readonly from: number;
  readonly to: number;
  /** Is told of each one; the life goes on when it has ended. */
  readonly each?: (age: number) => void | Promise<void>;
}

export const agents: readonly Agent[] = [chart, looper, walker];

export const lives: readonly Life[] = [
  {
    name: "chart",
    agent: "chart",
    async live(runtime, key, { from, to, each }) {
      if (from === 0)
        await runtime.process("chart", {
          type: "OperationRequest",
          operation: "add",
          input: { amount: 0 },
          key,
        });
      for (let age = from + 1; age <= to; age += 1) {
        await runtime.ask(chart, "add", { amount: 1 }, { key });
        await each?.(age);
      }
    },
    ask: (runtime, key) => runtime.ask(chart, "add", { amount: 1 }, { key }),
  },
  {
    name: "loop",
    agent: "looper",
    live: (runtime, key, messages) =>
      hear(key, messages, async () => {
        const input = { step: messages.from + 1, last: messages.to };
        await runtime.ask(looper, "loop", input, { key });
      }),
    ask: (runtime, key) => runtime.ask(looper, "loop", { step: 1, last: 1 }, { key }),
  },
  {
    name: "steps",
    agent: "walker",
    live: (runtime, key, messages) =>
      hear(key, messages, async (last) => {
        await runtime.ask(walker, "walk", { to: messages.to }, { key });
        await last;
      }),
    ask: (runtime, key) => runtime.ask(walker, "where", {}, { key }),
  },
];

/** Listens to the steps of one actor among those of others. */
async function hear(
  key: string,
  { to, each }: Messages,
  walk: (last: Promise<void>) => Promise<void>,
): Promise<void> {
  const { listener } = steps;
  const last = Promise.withResolvers<void>();
  steps.listener = async (step, of) => {
    if (of !== key) return listener(step, of);
    await each?.(step);
    if (step === to) last.resolve();
  };
  try {
    await walk(last.promise);
  } finally {
    steps.listener = listener;
  }
}
