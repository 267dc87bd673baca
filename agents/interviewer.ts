import { defineAgent } from "troupe";
import { z } from "zod";

/** Asks two questions in parallel, which can be answered in any order. */
export const interviewer = defineAgent({
  name: "interviewer",
  purpose: "Asks for a name and a favourite colour, and answers with both.",

  async chat(_input, turn) {
    const [{ name }, { colour }] = await Promise.all([
      turn.waitForInput(z.object({ name: z.string().describe("What is your name?") })),
      turn.waitForInput(z.object({ colour: z.string().describe("What is your favourite colour?") })),
    ]);
    await turn.text(`${name} likes ${colour}.`);
  },
});
