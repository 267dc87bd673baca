import { defineAgent } from "troupe";
import { z } from "zod";

const notes = z.array(z.string());

/** Keeps a list of notes for as long as the run lives. */
export const notebook = defineAgent({
  name: "notebook",
  purpose: "Keeps the notes of a run and lists them after each new one.",

  async chat(input, turn) {
    const kept = [...notes.parse(turn.memory.get() ?? []), input];
    turn.memory.set(kept);
    await turn.text(kept.map((note, index) => `${index + 1}. ${note}`).join("\n"));
  },
});
