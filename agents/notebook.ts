import { defineAgent } from "troupe";
import { z } from "zod";

/** Stores a list of notes in the memory of the run. */
export const notebook = defineAgent({
  name: "notebook",
  purpose: "Stores notes in the run and lists them after each new one.",
  memorySchema: z.array(z.string()).default([]),

  async chat(input, turn) {
    const kept = [...turn.memory.get(), input];
    turn.memory.set(kept);
    await turn.text(kept.map((note, index) => `${index + 1}. ${note}`).join("\n"));
  },
});
