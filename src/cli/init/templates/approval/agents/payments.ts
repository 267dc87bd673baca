import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** Asks a human before it pays. While it waits it exists only in the log, for minutes or weeks. */
export const payments = defineAgent({
  name: "payments",
  purpose: "Makes a payment after a human has approved it.",

  operations: {
    // An operation is a function with a schema for its input and its output.
    pay: operation({
      description: "Asks for approval and pays; without approval there is no receipt.",
      input: z.object({ to: z.string().min(1), amount: z.number().positive() }),
      output: z.object({ receipt: z.string().optional() }),

      async run({ to, amount }, turn) {
        // The turn waits here for an answer. After a crash the answer is read from the log.
        const { approved } = await turn.waitForInput(
          z.object({ approved: z.boolean().describe(`Pay ${amount} to ${to}?`) }),
        );
        if (!approved) return {};
        await turn.text(`Paid ${amount} to ${to}.`);
        return { receipt: `${to}:${amount}` };
      },
    }),
  },
});
