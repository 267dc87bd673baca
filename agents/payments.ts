import { defineAgent, operation } from "troupe";
import type { Turn } from "troupe";
import { z } from "zod";

const payment = z.object({ to: z.string().min(1), amount: z.number().positive() });
const receipt = z.object({ receipt: z.string().optional() });

/** Makes a payment after a human has approved it. */
export const payments = defineAgent({
  name: "payments",
  purpose: "Makes a payment after a human has approved it.",

  operations: {
    pay: operation({
      description: "Asks for approval and pays; without approval there is no receipt.",
      input: payment,
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

async function pay({ to, amount }: z.infer<typeof payment>, turn: Turn): Promise<z.infer<typeof receipt>> {
  const { approved } = await turn.waitForInput(
    z.object({ approved: z.boolean().describe(`Pay ${amount} to ${to}?`) }),
  );
  if (!approved) {
    await turn.text("declined");
    return {};
  }
  await turn.text(`Paid ${amount} to ${to}.`);
  return { receipt: `${to}:${amount}` };
}
