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

/** Handles `N M`: says N texts, each with its number and M characters of filling. */
export const flood: Agent = defineAgent({
  name: "flood",
  purpose: "Says a lot.",
  async chat(input, turn) {
    const [times = 0, length = 0] = input.split(" ").map(Number);
    for (let said = 1; said <= times; said += 1) await turn.text(`${said}${"x".repeat(length)} `);
  },
});

const inner = defineAgent({
  name: "inner",
  purpose: "Is called by middle.",
  chat: (input) => `inner says ${input}`,
});

const middle = defineAgent({
  name: "middle",
  purpose: "Is called by outer.",
  tools: [inner],
  async chat(input, turn) {
    await turn.text((await turn.call(inner, "chat", { input })).output);
  },
});

/** Calls an agent that calls an agent. */
export const outer: Agent = defineAgent({
  name: "outer",
  purpose: "Calls middle, which calls inner.",
  tools: [middle],
  async chat(input, turn) {
    await turn.text((await turn.call(middle, "chat", { input })).output);
  },
});
