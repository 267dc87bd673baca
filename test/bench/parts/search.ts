import type { EventLog, RunId } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median } from "../harness/statistics.ts";
import { inDirectory } from "./owner-places.ts";

/** Runs that are written at once. */
const TOGETHER = 1_000;
/** How often each search is measured. */
const SEARCHES = 30;
/** Every tenth run belongs to one of these. */
const OWNERS = 100;

/** How long a search among many runs takes, for words that one, some, all and no run has. */
export async function measureSearch({ longRun: runs }: Setup): Promise<Result[]> {
  return inDirectory(async (directory) => {
    const log = sqliteLog(directory, { durability: "relaxed" });
    for (let start = 0; start < runs; start += TOGETHER)
      await Promise.all(Array.from({ length: TOGETHER }, (_, index) => createRun(log, start + index, runs)));
    await log.indexed?.();
    const owner = ownerOf(10);
    const results: Result[] = [];
    for (const [what, text, where] of [
      ["a word of one input", "needle", {}],
      ["a word of one output", "haystack", {}],
      ["a word of a thousandth of them", "lot7", {}],
      ["a word of a hundredth of them, the oldest", "ancient", {}],
      ["a word of all", "parcel", {}],
      ["a word of none", "nothing", {}],
      ["two words of all", "parcel order", {}],
      ["a word of one with a word of all", "needle order", {}],
      ["a word of one, of an owner", "treasure", { owner }],
      ["a word of all, of an owner", "parcel", { owner }],
      ["a word of none, of an owner", "nothing", { owner }],
    ] as const) {
      const took: number[] = [];
      for (let count = 0; count < SEARCHES; count += 1) {
        const before = performance.now();
        await log.list({ limit: 50, text, ...where });
        took.push(performance.now() - before);
      }
      results.push(atMost(`p50 of a search among ${runs} runs, ${what}, durable log`, median(took), 300, ms));
    }
    await log.close();
    return results;
  });
}

async function createRun(log: EventLog, index: number, runs: number): Promise<void> {
  const { cursor } = await log.claim(`run_${index}` as RunId);
  const requestId = `req_${index}`;
  const owner = index % 10 === 0 ? { owner: ownerOf(index) } : {};
  const words = [
    `order ${index} lot${index % 1_000}`,
    ...(index < runs / 100 ? ["ancient"] : []),
    ...(index === runs / 2 ? ["needle"] : []),
    ...(index === 10 ? ["treasure"] : []),
  ];
  const output = index === runs / 4 ? "parcel in the haystack" : `parcel ${index} sent`;
  const at = new Date(index).toISOString();
  const appended = await log.append(cursor, {
    events: ['{"id":1,"type":"RequestStarted"}', JSON.stringify({ id: 2, type: "RequestCompleted", output })],
    records: [],
    run: {
      agent: "echo",
      status: "idle",
      createdAt: index,
      updatedAt: index,
      turns: 1,
      initialInput: words.join(" "),
      metadata: {},
      lastTurn: {
        request_id: requestId,
        operation: "chat",
        started_at: at,
        ended_at: at,
        finish_reason: "success",
      },
      ...owner,
    },
    requests: [
      {
        requestId,
        phase: "completed",
        createdAt: index,
        accepted: { n: 1, after: 0 },
        started: 1,
        completed: 2,
      },
    ],
  });
  log.release(appended);
}

function ownerOf(index: number): string {
  return `owner-${(index / 10) % OWNERS}`;
}
