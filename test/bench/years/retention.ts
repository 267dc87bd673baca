import { loadavg } from "node:os";
import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import { nodeEnvironment } from "troupe/node";
import { atLeast, atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { median, percentile } from "../harness/statistics.ts";
import type { Store } from "./stores.ts";
import { AGENTS } from "./templates.ts";

/** Turns at the same time. */
const CLIENTS = 8;
/** What was not changed for so long is removed: a sixth of the runs. */
const RETAIN_DAYS = 300;
const FOR_MS = 23_000;
/** So long there are turns alone, whose first commits wait for caches and connections. */
const WARM_UP_MS = 3_000;

/** How fast retention removes runs beside turns, and how long the commits of these take. */
export async function measureRetention(store: Store, runs: number): Promise<Result[]> {
  const log = await store.open();
  const commits: number[] = [];
  let removed = 0;
  let begunAt = Infinity;
  const timed: typeof log = {
    ...log,
    async append(cursor, batch) {
      const startedAt = performance.now();
      const next = await log.append(cursor, batch);
      if (startedAt >= begunAt) commits.push(performance.now() - startedAt);
      return next;
    },
    async remove(cursor, options) {
      const things = await log.remove(cursor, options);
      removed += 1;
      return things;
    },
    async removeIdle(seen) {
      begunAt = Math.min(begunAt, performance.now());
      const ids = await log.removeIdle(seen);
      removed += ids.length;
      return ids;
    },
  };
  const environment = nodeEnvironment();
  const turns = async (runtime: Runtime, isOver: () => boolean): Promise<number> => {
    let count = 0;
    const client = async (): Promise<void> => {
      while (!isOver()) {
        const receipt = await runtime.process("clerk", { type: "ChatRequest", input: "order" });
        await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
        if (performance.now() >= begunAt) count += 1;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return count;
  };
  const startedAt = performance.now();
  const runtime = createRuntime({
    agents: AGENTS,
    log: timed,
    retainMs: RETAIN_DAYS * 86_400_000,
    environment: {
      ...environment,
      // The first look comes soon, not after an hour.
      timer: (after, fire, options) =>
        environment.timer(after >= 3_600_000 ? WARM_UP_MS : after, fire, options),
    },
  });
  await runtime.ready();
  let lastAt = 0;
  let lastRemoved = 0;
  const count = await turns(runtime, () => {
    const now = performance.now();
    if (removed > lastRemoved) [lastAt, lastRemoved] = [now, removed];
    return removed >= runs || now - startedAt > FOR_MS;
  });
  await runtime.close();
  await log.close();
  const perS = (1_000 * lastRemoved) / (lastAt - begunAt);
  const [p50, p99, most] = [median(commits), percentile(commits, 0.99), Math.max(...commits)];
  console.log(
    `years, ${store.name}: ${lastRemoved} runs removed in ${ms(lastAt - begunAt)} beside ${count} turns, load ${loadavg()[0]?.toFixed(1)}; commits p50 ${ms(p50)}, p99 ${ms(p99)}, slowest ${ms(most)}`,
  );
  const aSecond = (value: number): string => `${value.toFixed(0)}/s`;
  return [
    atLeast(`runs removed by retention beside turns, ${store.name}`, perS, 2_000, aSecond),
    atMost(`slowest commit of turns beside it, ${store.name}`, most, 100, ms),
  ];
}
