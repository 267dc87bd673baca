import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** Repeats a text word by word. */
export const echo = defineAgent({
  name: "echo",
  purpose: "Repeats a text word by word.",

  async chat(input, turn) {
    for (const word of toWords(input)) await turn.text(word);
  },

  operations: {
    repeat: operation({
      description: "Repeats a text several times.",
      input: z.object({ text: z.string(), times: z.int().min(1).max(1000) }),
      output: z.object({ text: z.string() }),
      async run({ text, times }, turn) {
        for (let said = 0; said < times; said += 1) await turn.text(text);
        return { text: text.repeat(times) };
      },
    }),
  },
});

/** Splits a text after the spaces that follow each word; the joined parts equal the text. */
function toWords(text: string): readonly string[] {
  return text.match(/^\s+$|(?:^\s+)?\S+\s*/g) ?? [];
}
