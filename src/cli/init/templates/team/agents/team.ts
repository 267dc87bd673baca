import { defineAgent, operation } from "troupe";
import { z } from "zod";

/** Writes a first version. */
export const writer = defineAgent({
  name: "writer",
  purpose: "Writes a sentence about a subject.",
  async chat(subject, turn) {
    await turn.text(`${subject} is worth a look`);
  },
});

/** Says what is wrong with a text. */
export const reviewer = defineAgent({
  name: "reviewer",
  purpose: "Finds what is missing in a text.",
  operations: {
    review: operation({
      description: "Names the faults of a text.",
      input: z.object({ text: z.string() }),
      output: z.object({ faults: z.array(z.string()) }),
      run: ({ text }) => ({ faults: text.endsWith(".") ? [] : ["the sentence has no end"] }),
    }),
  },
});

/** Calls both. Their events are in the same stream as its own, one level deeper, and a cancel reaches them. */
export const team = defineAgent({
  name: "team",
  purpose: "Writes a text and has it reviewed.",
  tools: [writer, reviewer],

  async chat(subject, turn) {
    // A call that has ended before a crash is not made again: its result is in the log.
    const { output: draft } = await turn.call(writer, "chat", { input: subject });
    const { faults } = await turn.call(reviewer, "review", { text: draft });
    await turn.text(faults.length === 0 ? draft : `${draft}.`);
  },
});
