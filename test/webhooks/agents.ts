import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import * as z from "zod";

/** Asks, and ends with the answer. */
export const asker: Agent = defineAgent({
  name: "asker",
  purpose: "Asks once and ends.",
  async chat(input, turn) {
    const { ok } = await turn.waitForInput(z.object({ ok: z.boolean() }));
    await turn.text(`${input} ${String(ok)}`);
  },
});

/** Ends at once. */
export const speaker: Agent = defineAgent({
  name: "speaker",
  purpose: "Speaks.",
  async chat(input, turn) {
    await turn.text(input);
  },
});
