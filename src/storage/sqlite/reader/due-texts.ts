import type { DatabaseSync } from "node:sqlite";
import type { RunId } from "../../../protocol/ids.ts";

/** Runs whose words are due. When they are written, no chunk up to `seq` and no entry up to `n` is due any more. */
export interface DueTexts {
  readonly runs: readonly (readonly [rid: number, runId: RunId])[];
  readonly seq: number;
  readonly n: number;
  /** Whether no other run is due. */
  readonly isAll: boolean;
}

/** Finds some runs whose words are due; `undefined` if there are none. */
export function createDueTexts(database: DatabaseSync): () => DueTexts | undefined {
  const findPlace = database.prepare("SELECT seq FROM text_place");
  const chunks = database.prepare(
    `SELECT seq AS at, rid, run_id FROM chunk JOIN run USING (rid) WHERE seq > ? ORDER BY seq LIMIT ${ROWS}`,
  );
  const newest = database.prepare("SELECT coalesce(max(seq), 0) AS seq FROM chunk");
  const entries = database.prepare(
    `SELECT n AS at, rid, run_id FROM text_due JOIN run USING (rid) ORDER BY n LIMIT ${ROWS}`,
  );

  return () => {
    const place = Number(findPlace.get()?.["seq"]);
    const end = Number(newest.get()?.["seq"]);
    const runs = new Map<number, RunId>();
    let isAll = true;
    const take = (rows: readonly object[], from: number): number => {
      let last = from;
      if (rows.length === ROWS) isAll = false;
      for (const { at, rid, run_id: runId } of rows as readonly Row[]) {
        if (!runs.has(rid) && runs.size >= RUNS) {
          isAll = false;
          break;
        }
        runs.set(rid, runId);
        last = at;
      }
      return last;
    };
    const seq = end > place ? take(chunks.all(place), place) : place;
    const n = take(entries.all(), 0);
    return runs.size === 0 ? undefined : { runs: [...runs], seq, n, isAll };
  };
}

interface Row {
  readonly at: number;
  readonly rid: number;
  readonly run_id: RunId;
}

const ROWS = 512;

/** So many are written in one commit: few enough that another one hardly waits for it. */
const RUNS = 32;
