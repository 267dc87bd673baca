import { defineAgent } from "troupe";

/** Speaks for ten seconds. */
export const ticker = defineAgent({
  name: "ticker",
  purpose: "Says a number ten times a second.",
  async chat(_input, turn) {
    for (let tick = 1; tick <= 100; tick += 1) {
      await turn.sleep(100);
      await turn.text(`${tick}\n`);
    }
  },
});

export const tick = { type: "ChatRequest", input: "tick" } as const;
