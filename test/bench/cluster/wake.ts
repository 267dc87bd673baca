import { once } from "node:events";
import { postgresLog } from "troupe/postgres";
import type { PostgresServer } from "../../machine/postgres-server.ts";
import { nextEvents, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { median, percentile } from "../harness/statistics.ts";

const SAMPLES = 500;

/** The time from the acknowledgement of an append to the wake of a reader on another node. */
export async function measureWake({ url }: PostgresServer): Promise<Result[]> {
  const [writer, reader] = [await postgresLog({ url }), await postgresLog({ url })];
  try {
    let cursor = await startRun(writer, "run_wake", 1);
    const wakes = new EventTarget();
    const stop = reader.tail(asRunId("run_wake"), () => wakes.dispatchEvent(new Event("wake")));
    const times: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const woken = once(wakes, "wake");
      cursor = await writer.append(cursor, nextEvents(cursor, 1));
      const from = performance.now();
      await woken;
      times.push(performance.now() - from);
    }
    stop();
    console.log(`\nA wake on another node: p50 ${ms(median(times))}, p99 ${ms(percentile(times, 0.99))}`);
    return [atMost("a wake on another node after an append, p50", median(times), 5, ms)];
  } finally {
    await Promise.all([writer, reader].map((log) => log.close()));
  }
}
