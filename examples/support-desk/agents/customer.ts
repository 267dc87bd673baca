import { defineAgent, defineTool } from "troupe";
import { z } from "zod";

/** What the desk knows of a customer: a run for each, by the customer's name. */
export const customer = defineAgent({
  name: "customer",
  purpose: "Remembers what was said to a customer.",
  memorySchema: z.array(z.string()).default([]),
  operations: (own) => ({
    note: own({
      description: "Remembers a note.",
      input: z.object({ note: z.string() }),
      run: ({ note }, turn) => turn.memory.set([...turn.memory.get(), note]),
    }),
    notes: own({
      description: "Tells the notes.",
      input: z.object({}),
      run: (_input, turn) => turn.memory.get(),
    }),
  }),
});

const name = z.string().describe("The name of the customer.");

export const remember = defineTool({
  name: "remember",
  description: "Remembers a note about a customer.",
  input: z.object({ name, note: z.string() }),
  async run({ name: key, note }, turn) {
    await turn.ask(turn.actor(customer, key), "note", { note });
    return "remembered";
  },
});

export const recall = defineTool({
  name: "recall",
  description: "Tells what is remembered of a customer.",
  input: z.object({ name }),
  effect: "idempotent",
  run: ({ name: key }, turn) => turn.ask(turn.actor(customer, key), "notes", {}),
});
