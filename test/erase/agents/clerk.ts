import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** Keeps what it is told everywhere that a run can keep something. */
export const clerk = defineAgent({
  name: "clerk",
  purpose: "Keeps what it is told everywhere that a run can keep something.",
  memorySchema: z.object({ words: z.array(z.string()) }).default({ words: [] }),
  config: z.object({ word: z.string().optional(), password: z.string().optional() }),

  async chat(text, turn) {
    turn.memory.set({ words: [...turn.memory.get().words, text] });
    await turn.artifact({ name: `${text}.txt`, mimeType: "text/plain", data: text });
    await turn.text(`${text} `.repeat(50));
    return text;
  },

  operations: {
    ask: operation({
      description: "Asks a person.",
      input: z.object({ text: z.string() }),
      output: z.object({ answer: z.string() }),
      run: async ({ text }, turn) => turn.waitForInput(z.object({ answer: z.string().describe(text) })),
    }),
  },
});
