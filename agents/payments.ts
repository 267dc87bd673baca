import { defineAgent, operation } from "troupe";
import type { Turn } from "troupe";
import { z } from "zod";

const payment = z.object({ to: z.string().min(1), amount: z.number().positive() });
const order = payment.extend({
  within_s: z
    .number()
    .positive()
    .max(31_536_000)
    .optional()
    .describe("Seconds in which it must be approved."),
});
const receipt = z.object({ receipt: z.string().optional() });

/** Makes a payment after a human has approved it. */
export const payments = defineAgent({
  name: "payments",
  purpose: "Makes a payment after a human has approved it.",

  operations: {
    pay: operation({
      description: "Asks for approval and pays; without approval there is no receipt.",
      input: order,
      output: receipt,
      run: pay,
    }),
  },

  async chat(input, turn) {
    const [, amount, to] = /^pay (\d+(?:\.\d+)?) to (.+)$/.exec(input) ?? [];
    const asked = payment.safeParse({ to, amount: Number(amount) });
    if (asked.success) await pay(asked.data, turn);
    else await turn.text('Tell me how much to pay and to whom, as in "pay 30 to bob".');
  },
});

async function pay(
  { to, amount, within_s: seconds }: z.infer<typeof order>,
  turn: Turn,
): Promise<z.infer<typeof receipt>> {
  const approval = z.object({ approved: z.boolean().describe(`Pay ${amount} to ${to}?`) });
  const answer =
    seconds === undefined
      ? await turn.waitForInput(approval)
      : await turn.waitForInput(approval, { timeoutMs: seconds * 1_000 });
  if (answer === undefined) {
    await turn.text("expired");
    return {};
  }
  if (!answer.approved) {
    await turn.text("declined");
    return {};
  }
  await turn.text(`Paid ${amount} to ${to}.`);
  return { receipt: `${to}:${amount}` };
}
