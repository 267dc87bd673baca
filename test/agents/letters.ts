import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";

/** A worker whose tool can be broken, and a boss that tells it to work: what it does then is a dead letter. */
export interface Workshop {
  readonly agents: readonly Agent[];
  isBroken: boolean;
  works: number;
}

export function createWorkshop(): Workshop {
  const worker = defineAgent({
    name: "worker",
    purpose: "Works, or fails.",
    operations: (own) => ({
      work: own({
        input: z.object({ item: z.string() }),
        run() {
          if (workshop.isBroken) throw new Error("the tool broke");
          workshop.works += 1;
        },
      }),
    }),
  });
  const boss = defineAgent({
    name: "boss",
    purpose: "Tells a worker what to do.",
    operations: (own) => ({
      order: own({
        input: z.object({ item: z.string() }),
        async run(input, turn) {
          await turn.tell(turn.actor(worker, "w"), "work", input);
        },
      }),
    }),
  });
  const workshop: Workshop = { agents: [worker, boss], isBroken: true, works: 0 };
  return workshop;
}
