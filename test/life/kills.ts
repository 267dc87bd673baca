import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import { RestartedServer } from "../node/supervise/restarted-server.ts";

/** How an actor has answered clients that never pause, while its server was killed. */
export interface KilledCounts {
  /** The answers, in order. */
  readonly counts: readonly number[];
  /** What else the server has answered. */
  readonly refusals: readonly string[];
  readonly renewals: number;
  readonly kills: number;
}

/** Has 32 clients ask one actor without a pause, through renewals, and kills its server again and again. */
export async function countUnderKills(asks: number, lifeMs: number): Promise<KilledCounts> {
  await using server = new RestartedServer("../../life/served", [join(import.meta.dirname, "small-runs.ts")]);
  const counts: number[] = [];
  const refusals: string[] = [];
  const runs = new Set<string>();
  let left = asks;
  let kills = 0;
  const clients = Promise.all(
    Array.from({ length: 32 }, async () => {
      while (left > 0) {
        const id = `ask-${left--}`;
        const request = {
          type: "OperationRequest",
          operation: "count",
          input: {},
          key: "one",
          request_id: id,
        };
        const answer = (await server.post("counter", { ...request, wait: "completed" })) as Answer;
        if (typeof answer.output !== "number") refusals.push(JSON.stringify(answer));
        else counts.push(answer.output);
        if (answer.run_id !== undefined) runs.add(answer.run_id);
      }
    }),
  );
  let isOver = false;
  const over = clients.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await server.url;
    await Promise.race([pause(lifeMs), over]);
    if (isOver) break;
    await server.kill();
    kills += 1;
  }
  return { counts: counts.toSorted((a, b) => a - b), refusals, renewals: runs.size - 1, kills };
}

interface Answer {
  readonly output?: unknown;
  readonly run_id?: string;
}
