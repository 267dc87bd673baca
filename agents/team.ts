import { defineAgent } from "troupe";
import { payments } from "./payments.ts";
import { researcher } from "./researcher.ts";

/** Delegates to other agents: one researches, one pays. */
export const team = defineAgent({
  name: "team",
  purpose: "Researches a subject, or buys something, through other agents.",
  tools: [researcher, payments],

  async chat(input, turn) {
    const [, thing, price] = /^buy (.+) for (\d+(?:\.\d+)?)$/.exec(input) ?? [];
    if (thing === undefined) {
      const { output } = await turn.call(researcher, "chat", { input });
      await turn.text(output);
      return;
    }
    if (Number(price) === 0) {
      await turn.text("Tell me a price above 0.");
      return;
    }
    const { receipt } = await turn.call(payments, "pay", { to: "the shop", amount: Number(price) });
    await turn.text(receipt === undefined ? `Did not buy ${thing}.` : `Bought ${thing}, receipt ${receipt}.`);
  },
});
