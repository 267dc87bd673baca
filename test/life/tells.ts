import { createRuntime, defineAgent } from "troupe";
import type { EventLog } from "troupe";
import { z } from "zod";

/** What a tell costs with the turn that it starts, in microseconds of CPU of the process. */
export interface TellCosts {
  /** To one actor, which has several waiting. */
  readonly toOne: number;
  readonly toFifty: number;
  /** How many tells were not counted once. */
  readonly wrong: number;
}

/** How many tells a turn makes at once. */
const AT_ONCE = 100;

/** How often each is measured; the last one counts, because the process is warm then. */
const ROUNDS = 3;

/** Tells one actor and then fifty the same number of times. */
export async function measureTells(log: EventLog, tells: number): Promise<TellCosts> {
  let left = 0;
  let isOver: () => void = () => {};
  const counter = defineAgent({
    name: "counter",
    purpose: "Counts.",
    memorySchema: z.number().default(0),
    operations: (own) => ({
      add: own({
        input: z.object({}),
        run(_input, turn) {
          turn.memory.set(turn.memory.get() + 1);
          left -= 1;
          if (left === 0) isOver();
        },
      }),
      count: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const sender = defineAgent({
    name: "sender",
    purpose: "Tells counters to count.",
    operations: (own) => ({
      send: own({
        input: z.object({ actors: z.number() }),
        async run({ actors }, turn) {
          const all = Array.from({ length: AT_ONCE }, (_, at) => `${actors}-${at % actors}`);
          await Promise.all(all.map((key) => turn.tell(turn.actor(counter, key), "add", {})));
        },
      }),
    }),
  });
  const runtime = createRuntime({ agents: [counter, sender], log });
  await runtime.ready();
  const measure = async (actors: number): Promise<number> => {
    left = tells;
    const over = new Promise<void>((resolve) => {
      isOver = resolve;
    });
    const before = process.cpuUsage();
    for (let sent = 0; sent < tells; sent += AT_ONCE)
      await runtime.actor(sender, "sender").ask("send", { actors });
    await over;
    const { user, system } = process.cpuUsage(before);
    return Math.round((user + system) / tells);
  };
  let [toOne, toFifty] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    toOne = await measure(1);
    toFifty = await measure(50);
  }
  const counted = await runtime.actor(counter, "1-0").ask("count", {});
  await runtime.close();
  return { toOne, toFifty, wrong: Math.abs(counted - tells * ROUNDS) };
}
