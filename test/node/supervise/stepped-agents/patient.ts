// Agents that wait for an hour, in each way that has an end.
import { defineAgent, defineTool } from "troupe";
import { z } from "zod";

const HOUR_MS = 3_600_000;

export const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for an hour.",
  async chat(_input, turn) {
    await turn.sleep(HOUR_MS);
  },
});

export const asker = defineAgent({
  name: "asker",
  purpose: "Waits for an answer for an hour.",
  async chat(_input, turn) {
    await turn.waitForInput(z.object({ go: z.boolean() }), { timeoutMs: HOUR_MS });
  },
});

const never = defineTool({
  name: "never",
  description: "Never ends.",
  input: z.object({}),
  run: () => new Promise<null>(() => {}),
});

export const caller = defineAgent({
  name: "caller",
  purpose: "Gives a tool an hour.",
  tools: [never],
  async chat(_input, turn) {
    await turn.tool(never, {}, { timeoutMs: HOUR_MS }).catch(() => {});
  },
});
