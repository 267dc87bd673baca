import { defineAgent } from "troupe";
import { z } from "zod";

/** Asks for an answer until a deadline. */
export const hurried = defineAgent({
  name: "hurried",
  purpose: "Waits for an answer for as many milliseconds as the chat says.",
  async chat(input, turn) {
    const answer = z.object({ answer: z.string() });
    const given = await turn.waitForInput(answer, { timeoutMs: Number(input) });
    return given === undefined ? "nothing" : `got ${given.answer}`;
  },
});
