import { defineAgent } from "troupe";

/** Shortens a text to its first sentence. */
export const summarizer = defineAgent({
  name: "summarizer",
  purpose: "Shortens a text to one sentence.",

  async chat(input, turn) {
    const [sentence] = /^.*?[.!?](?=\s|$)/s.exec(input.trim()) ?? [input.trim()];
    await turn.text(sentence);
  },
});
