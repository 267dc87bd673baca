import { setTimeout as pause } from "node:timers/promises";
import { createRuntime } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { COLORS, checkReads, racers, simulateRaces } from "../laws/races.ts";
import type { Read } from "../laws/races.ts";

/** The races of a turn. */
const RACES = 10;

/** Random races of receives, calls and deadlines under a clock of the test; some die at a commit. Returns the faults. */
export async function raceInMemory(turns: number): Promise<readonly string[]> {
  const faults: string[] = [];
  for (let seed = 1; seed <= turns; seed += 1) {
    const { faults: found, commits } = await simulateRaces({ seed, races: RACES, passive: seed % 2 === 0 });
    faults.push(...found);
    // Two deaths of each turn, at places that all turns together cover.
    for (const written of [false, true]) {
      const commit = 1 + ((seed * 7 + (written ? 3 : 0)) % commits);
      const commitFaults = [{ commit, kind: "crash", written }] as const;
      faults.push(...(await simulateRaces({ seed, races: RACES, commitFaults })).faults);
    }
  }
  return faults;
}

/** The same on a log on disk and by the real clock. The runtime is closed in the middle of every third turn, and opened again. */
export async function raceOnDisk(open: () => EventLog, turns: number): Promise<readonly string[]> {
  const faults: string[] = [];
  let log = open();
  let runtime: Runtime = createRuntime({ agents: racers, log });
  for (let from = 1; from <= turns; from += TOGETHER) {
    const seeds = Array.from({ length: Math.min(TOGETHER, turns - from + 1) }, (_, index) => from + index);
    const sent = new Map(seeds.map((seed) => [seed, [] as string[]]));
    const random = createRandom(from);
    for (const seed of seeds)
      await runtime.process("racer", {
        type: "OperationRequest",
        operation: "race",
        input: { seed, races: RACES, unitMs: 3 },
        key: `on-disk-${seed}`,
        request_id: `races-${seed}`,
      });
    for (let round = 0; round < RACES * 2; round += 1) {
      for (const seed of seeds) {
        if (random.below(2) === 0) continue;
        const ids = sent.get(seed) ?? [];
        const id = `m-${seed}-${ids.length + 1}`;
        ids.push(id);
        const name = COLORS[random.below(3)] as string;
        const message = {
          type: "Message",
          name,
          body: ids.length,
          key: `on-disk-${seed}`,
          request_id: id,
        } as const;
        await runtime.process("racer", message);
      }
      if (round === RACES) {
        await runtime.close({ drainMs: 0 });
        log = open();
        runtime = createRuntime({ agents: racers, log });
        await runtime.ready();
      }
      await pause(2);
    }
    for (const seed of seeds) {
      const requestId = `races-${seed}`;
      let status = await runtime.status(requestId);
      while (status.finish_reason === undefined) {
        await pause(20);
        status = await runtime.status(requestId);
      }
      if (!Array.isArray(status.output)) faults.push(`${requestId}: ${JSON.stringify(status)}`);
      const reads = status.output as unknown as Read[];
      const found = await checkReads(log, status.run_id, requestId, reads, sent.get(seed) ?? []);
      faults.push(...found.map((fault) => `${requestId}: ${fault}`));
    }
  }
  await runtime.close();
  return faults;
}

/** The turns that race at the same time. */
const TOGETHER = 10;
