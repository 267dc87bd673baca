import { defineAgent } from "troupe";
import { z } from "zod";

/** Counts its turns. */
export const counter = defineAgent({
  name: "counter",
  purpose: "Counts its turns.",
  memorySchema: z.number().default(0),
  operations: (operation) => ({
    count: operation({
      input: z.object({}),
      run(_input, turn): number {
        turn.memory.set(turn.memory.get() + 1);
        return turn.memory.get();
      },
    }),
  }),
});
