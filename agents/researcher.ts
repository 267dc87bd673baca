import { defineAgent } from "troupe";
import { summarizer } from "./summarizer.ts";

/** Writes down what there is to know about a subject, and has it shortened. */
export const researcher = defineAgent({
  name: "researcher",
  purpose: "Finds out about a subject and reports the gist of it.",
  tools: [summarizer],

  async chat(subject, turn) {
    const findings = [
      `What people ask first about ${subject} is where it comes from.`,
      `What they ask next is what it is good for.`,
      `Nobody has asked everything about ${subject} yet.`,
    ].join(" ");
    const { output } = await turn.call(summarizer, "chat", { input: findings });
    await turn.text(`About ${subject}: ${output}`);
  },
});
