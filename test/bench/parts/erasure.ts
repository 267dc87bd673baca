import { createRuntime } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { clerk } from "../../erase/agents/clerk.ts";
import { makeMarked } from "../../erase/fill.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { inDirectory, onPostgres, RUNS, sqlitePlace } from "./owner-places.ts";
import type { Place } from "./owner-places.ts";

/** How long the erasure of an owner takes among many: each of its runs has memory, secrets, a key and a file, every tenth a question. */
export async function measureErasure({ isQuick, rounds }: Setup): Promise<Result[]> {
  const owners = isQuick ? 100 : 10_000;
  const measure = (place: Place): Promise<Result[]> => measureIn(place, owners, rounds);
  return [
    ...(await inDirectory((directory) => measure(sqlitePlace(directory, "full")))),
    ...(await onPostgres("the erasure of an owner", measure)),
  ];
}

async function measureIn(place: Place, owners: number, rounds: number): Promise<Result[]> {
  await using(place, async () => {});
  await place.fill(0, owners * RUNS);
  // A start, so that what was filled in is known to have nothing left.
  const took = await using(place, async (runtime, log) => {
    await log.scrub();
    const each: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await makeMarked(runtime, `erased-${round}`, { word: "word", count: RUNS });
      const before = performance.now();
      await runtime.erase({ owner: `erased-${round}` });
      each.push(performance.now() - before);
    }
    return each;
  });
  const what = `erasure of an owner with ${RUNS} runs among ${owners * RUNS}, ${place.name}`;
  return [atMost(what, median(took), 1_000, ms)];
}

async function using<Value>(
  place: Place,
  use: (runtime: Runtime, log: EventLog) => Promise<Value>,
): Promise<Value> {
  const log = await place.open();
  const runtime = createRuntime({ agents: [clerk], log });
  await runtime.ready();
  try {
    return await use(runtime, log);
  } finally {
    await runtime.close();
    await log.close();
  }
}
