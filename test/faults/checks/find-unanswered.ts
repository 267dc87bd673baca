import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readHeadFile } from "../../../src/storage/sqlite/format/head-file.ts";

/**
 * Finds the first event of each run that may be lost: its transaction was committed, but not named by the head file when
 * the process died, so no client got an answer. Recent events whose rows that transaction emptied count as well.
 */
export function findUnanswered(directory: string): ReadonlyMap<string, number> {
  const head = readHeadFile(join(directory, "head"));
  const database = new DatabaseSync(join(directory, "log.db"));
  try {
    // A server that is killed in its first start may not have created the tables.
    if (head === undefined || database.prepare("PRAGMA user_version").get()?.["user_version"] === 0)
      return new Map();
    const appends = [...readChunks(database, head.batch), ...readRecent(database, head.batch)];
    const all = newestOf(appends);
    const answered = newestOf(appends.filter((append) => append.answered));
    const runs = database.prepare("SELECT rid, run_id AS runId FROM run WHERE removed = 0").all();
    return new Map(
      runs.flatMap(({ rid, runId }) => {
        const last = answered.get(Number(rid)) ?? 0;
        return (all.get(Number(rid)) ?? 0) > last ? [[String(runId), last + 1]] : [];
      }),
    );
  } finally {
    database.close();
  }
}

/** The newest event of a run in a part of the log, and whether the head file names the transaction of that part. */
interface Append {
  readonly rid: number;
  readonly last: number;
  readonly answered: boolean;
}

function readChunks(database: DatabaseSync, batch: number): readonly Append[] {
  const chunks = database.prepare(
    `SELECT rid, last, seq < coalesce((SELECT min(first_chunk) FROM batch WHERE n > ?), seq + 1) AS answered FROM chunk`,
  );
  return chunks
    .all(batch)
    .map(({ rid, last, answered }) => ({ rid: Number(rid), last: Number(last), answered: answered === 1 }));
}

function readRecent(database: DatabaseSync, batch: number): readonly Append[] {
  const rows = database.prepare("SELECT n, parts FROM batch WHERE parts IS NOT NULL").all();
  return rows.flatMap(({ n, parts }) => {
    const numbers = JSON.parse(String(parts)) as number[];
    const appends: Append[] = [];
    for (let at = 0; at < numbers.length; at += PART_NUMBERS) {
      const [rid = 0, , last = 0] = numbers.slice(at, at + PART_NUMBERS);
      appends.push({ rid, last, answered: Number(n) <= batch });
    }
    return appends;
  });
}

/** The run, the first and the last event, the number of records and the bytes of an append. */
const PART_NUMBERS = 5;

function newestOf(appends: readonly Append[]): ReadonlyMap<number, number> {
  const newest = new Map<number, number>();
  for (const { rid, last } of appends) newest.set(rid, Math.max(newest.get(rid) ?? 0, last));
  return newest;
}
