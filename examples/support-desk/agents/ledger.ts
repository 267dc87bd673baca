import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** What a shop has paid back. Its run with the key `refunds` is the one book of all refunds of the shop. */
export const ledger = defineAgent({
  name: "ledger",
  purpose: "Adds refunds up.",
  memorySchema: z.object({ count: z.int(), cents: z.int() }).default({ count: 0, cents: 0 }),
  operations: (own) => ({
    add: own({
      description: "Books a refund.",
      input: z.object({ cents: z.int() }),
      run({ cents }, turn) {
        const before = turn.memory.get();
        turn.memory.set({ count: before.count + 1, cents: before.cents + cents });
      },
    }),
    total: own({
      description: "Says how many refunds there are, and their sum.",
      input: z.object({}),
      run: (_input, turn) => turn.memory.get(),
    }),
  }),
});

/** Tells the sum of the refunds of a shop; each shop has a schedule for it. */
export const evening = defineAgent({
  name: "evening",
  purpose: "Reports the refunds of the shop each evening.",
  operations: {
    report: operation({
      description: "Says what was paid back so far.",
      input: z.object({}),
      async run(_input, turn) {
        const { count, cents } = await turn.ask(turn.actor(ledger, "refunds"), "total", {});
        return `${count} refunds, ${(cents / 100).toFixed(2)} EUR`;
      },
    }),
  },
});
