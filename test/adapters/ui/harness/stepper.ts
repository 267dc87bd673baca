import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { Gates } from "../../gates.ts";

/** An agent that says the words of its input, each when a test lets it. */
export function createStepper(gates: Gates): Agent {
  return defineAgent({
    name: "stepper",
    purpose: "Says words when it may.",
    async chat(input, turn) {
      for (const word of input.split(" ")) {
        await gates.get(word).promise;
        await turn.text(`${word} `);
      }
    },
  });
}
