import { defineAgent } from "troupe";
import type { Agent } from "troupe";

/** Throws an error with the text that it is sent. */
export const broken: Agent = defineAgent({
  name: "broken",
  purpose: "Fails with the text that it is sent.",
  chat(input) {
    throw new Error(input);
  },
});
