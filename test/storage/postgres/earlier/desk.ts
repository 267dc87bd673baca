import { defineAgent } from "troupe";
import { z } from "zod";

/** What the logs of earlier versions have turns of. It does what it did when they were written. */
export const desk = defineAgent({
  name: "desk",
  purpose: "Notes, asks before it pays, and sleeps.",
  version: "1",
  config: z.object({ greeting: z.string().default("Hello"), api_key: z.string().optional() }),
  memorySchema: z.array(z.string()).default([]),
  async chat(text, turn) {
    turn.memory.set([...turn.memory.get(), text]);
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: text });
    await turn.text(`${turn.config.greeting}: ${turn.memory.get().join(", ")} (${turn.config.api_key})`);
  },
  operations: (operation) => ({
    pay: operation({
      description: "Asks and pays.",
      input: z.object({ amount: z.number() }),
      output: z.object({ paid: z.boolean(), by: z.string() }),
      async run({ amount }, turn) {
        const by = await turn.effect("provider", async () => `provider ${amount}`);
        const { ok } = await turn.waitForInput(z.object({ ok: z.boolean().describe(`Pay ${amount}?`) }));
        return { paid: ok, by };
      },
    }),
    nap: operation({
      description: "Sleeps.",
      input: z.object({ ms: z.number() }),
      output: z.object({ slept: z.number() }),
      async run({ ms }, turn) {
        await turn.sleep(ms);
        return { slept: ms };
      },
    }),
  }),
});
