import { defineAgent } from "troupe";
import type { Agent } from "troupe";

/** Waits for a person. */
export const asker: Agent = defineAgent({
  name: "asker",
  purpose: "Asks.",
  async chat(_input, turn) {
    await turn.waitForInput({ name: "Your name?" });
  },
});
