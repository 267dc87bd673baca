import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { memoryLog } from "../../../src/storage/memory/log.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";

/** Runs that are written at once. */
const TOGETHER = 1_000;
/** Lists per measured position. */
const LISTS = 20;

/** The cost of a numbered page of the list of runs, with the number of all. */
export async function measureRunList({ lateRun: runs }: Setup): Promise<Result[]> {
  const directory = mkdtempSync(join(tmpdir(), "troupe-list-"));
  try {
    return [
      await measure(memoryLog(), "memory log", runs),
      await measure(sqliteLog(directory, { durability: "relaxed" }), "durable log", runs),
    ];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function measure(log: EventLog, name: string, runs: number): Promise<Result> {
  for (let start = 0; start < runs; start += TOGETHER) {
    await Promise.all(Array.from({ length: TOGETHER }, (_, index) => createRun(log, start + index)));
  }
  const costs: number[] = [];
  for (const offset of [0, runs / 2, runs - 10]) {
    const before = process.cpuUsage();
    for (let count = 0; count < LISTS; count += 1)
      await log.list({ agent: "echo", byCreation: true, limit: 10, offset, total: true });
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1_000 / LISTS);
  }
  await log.close();
  const what = `CPU of a page of ${runs} runs by creation, with their number, the slowest of three pages, ${name}`;
  return atMost(what, Math.max(...costs), 20, ms);
}

async function createRun(log: EventLog, index: number): Promise<void> {
  const { cursor } = await log.claim(`run_${index}`);
  const run = {
    agent: "echo",
    status: "idle",
    createdAt: index,
    // Not in the order of creation.
    updatedAt: (index * 7_919) % 1_000_003,
    turns: 1,
    initialInput: "x".repeat(100),
    metadata: {},
  } as const;
  log.release(await log.append(cursor, { events: ['{"id":1,"type":"TextOutput"}'], records: [], run }));
}
