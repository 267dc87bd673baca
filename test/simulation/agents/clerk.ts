import { defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";

/** The schedules of the clerk: every so many minutes, with what happens when the turn before is still open. */
export const SCHEDULES = {
  queued: { minutes: 3, overlap: "queue" },
  skipped: { minutes: 2, overlap: "skip" },
} as const;

/** An agent with schedules, whose turns sometimes take longer than the time between two of them. */
export const clerk: Agent = defineAgent({
  name: "clerk",
  purpose: "Works at fixed times.",
  operations: {
    work: operation({
      input: z.object({}),
      async run(_input, turn) {
        await turn.sleep(Math.floor(turn.random() * 150_000));
        return null;
      },
    }),
  },
  schedules: Object.fromEntries(
    Object.entries(SCHEDULES).map(([name, { minutes, overlap }]) => [
      name,
      { cron: `*/${minutes} * * * *`, operation: "work", overlap },
    ]),
  ),
});
