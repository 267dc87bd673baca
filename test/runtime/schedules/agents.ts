import { defineAgent, operation } from "troupe";
import type { Agent, ScheduleOptions } from "troupe";
import { z } from "zod";

/** An agent whose operation is called by a schedule `report`; it says at what time, and can wait for a person. */
export function scheduled(options: Partial<ScheduleOptions> = {}): Agent {
  return defineAgent({
    name: "reporter",
    purpose: "Reports.",
    operations: {
      report: operation({
        input: z.object({ topic: z.string(), asks: z.boolean().default(false) }),
        async run({ topic, asks }, turn) {
          if (asks) await turn.waitForInput({ go: "Go on?" });
          return `${topic} ${turn.metadata["scheduled_at"] as string}`;
        },
      }),
    },
    schedules: {
      report: { cron: "0 * * * *", operation: "report", input: { topic: "news" }, ...options },
    },
  });
}
