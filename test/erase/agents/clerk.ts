import { defineAgent, operation, topic } from "troupe";
import type { Model } from "troupe";
import { z } from "zod";

const text = z.object({ text: z.string() });

/** Says again what it is asked; each completion uses 60 tokens. */
const parrot: Model = {
  name: "parrot",
  async *generate(input) {
    yield { type: "result", result: input, usage: { input_tokens: 40, output_tokens: 20 } };
  },
};

/** Keeps what it is told everywhere that a run can keep something. */
export const clerk = defineAgent({
  name: "clerk",
  purpose: "Keeps what it is told everywhere that a run can keep something.",
  memorySchema: z.object({ words: z.array(z.string()) }).default({ words: [] }),
  config: z.object({ word: z.string().optional(), password: z.string().optional() }),
  messages: { note: z.string() },

  async chat(text, turn) {
    turn.memory.set({ words: [...turn.memory.get().words, text] });
    await turn.artifact({ name: `${text}.txt`, mimeType: "text/plain", data: text });
    await turn.text(`${text} `.repeat(50));
    return text;
  },

  operations: (own) => ({
    ask: operation({
      description: "Asks a person.",
      input: text,
      output: z.object({ answer: z.string() }),
      run: async ({ text }, turn) => turn.waitForInput(z.object({ answer: z.string().describe(text) })),
    }),
    spend: operation({
      description: "Asks a model twice, for which an owner has no budget.",
      input: text,
      async run({ text }, turn) {
        await turn.complete({ model: parrot, input: text });
        await turn.complete({ model: parrot, input: text });
      },
    }),
    fail: own({
      description: "Fails with what it is told.",
      input: text,
      run({ text }) {
        throw new Error(text);
      },
    }),
    follow: own({
      description: "Subscribes to a topic.",
      input: text,
      run: ({ text }, turn) => turn.subscribe(topic(text), "note"),
    }),
    bury: own({
      description: "Tells another one what it cannot do: a dead letter.",
      input: text,
      async run({ text }, turn) {
        await turn.tell(turn.actor(clerk, text), "fail", { text }).catch(() => {});
      },
    }),
    pass_on: own({
      description: "Tells another one something.",
      input: text,
      async run({ text }, turn) {
        await turn.tell(turn.actor(clerk, text), "ask", { text });
      },
    }),
  }),
});
