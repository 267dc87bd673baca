import { createRuntime } from "troupe";
import type { EventLog } from "troupe";
import { walker } from "./agents.ts";

/** How one actor has answered 32 clients that never pause. */
export interface ManyClients {
  /** The different answers. */
  readonly answers: number;
  readonly refusals: readonly string[];
  readonly renewals: number;
}

/** Has 32 clients ask one actor without a pause, which is renewed four times meanwhile. */
export async function askWithoutPause(log: EventLog, asks: number): Promise<ManyClients> {
  // Two events a turn.
  const limits = { queuedRequests: 64, keyedRunEvents: Math.floor(asks / 2), runEvents: asks };
  const runtime = createRuntime({ agents: [walker], log, limits });
  const answers = new Set<unknown>();
  const refusals: string[] = [];
  let left = asks;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (left > 0) {
        left -= 1;
        try {
          answers.add(await runtime.ask(walker, "step", {}, { key: "one" }));
        } catch (error) {
          refusals.push(String(error));
        }
      }
    }),
  );
  const { runs } = await runtime.runs({ limit: 100, agent: "walker" });
  await runtime.close();
  return { answers: answers.size, refusals, renewals: runs.filter(({ key }) => key === undefined).length };
}
