import type { RunId } from "../../protocol/ids.ts";
import type { WordSearch } from "../sql/word-search.ts";
import type { IndexProgress } from "../sql/background-indexer.ts";
import type { Database } from "./connection/database.ts";

/**
 * Writes the words of some runs that are due. A run that another node is writing is left to it, and one that changes meanwhile
 * stays due. An append waits for the last statement at most.
 */
export async function indexTexts(database: Database, wordsOf: WordSearch["wordsOf"]): Promise<IndexProgress> {
  const { taken, written } = await database.background(async ({ query }) => {
    const due = await query<Due>(TAKE, [TAKEN]);
    if (due.length === 0) return { taken: 0, written: 0 };
    const words = await wordsOf(due.map(({ run }) => run));
    const items = due.flatMap(({ run, appends }) => {
      const made = words.get(run);
      return made?.isWhole === true ? [[run, appends, made.words]] : [];
    });
    const [done] = await query<{ readonly count: number }>(WRITE, [JSON.stringify(items)]);
    return { taken: due.length, written: done?.count ?? 0 };
  });
  if (taken === TAKEN && written > 0) return "more";
  const [row] = await database.ask<{ readonly due: boolean }>(ARE_DUE);
  return row?.due === true ? "later" : "done";
}

interface Due {
  readonly run: RunId;
  readonly appends: number;
}

const TAKEN = 64;

const TAKE = `
  SELECT text_due.run, run.appends FROM troupe.text_due JOIN troupe.run ON run.id = text_due.run
    ORDER BY text_due.run LIMIT $1 FOR UPDATE OF text_due SKIP LOCKED`;

const ARE_DUE = "SELECT EXISTS (SELECT FROM troupe.text_due) AS due";

const WRITE = `
  WITH given AS MATERIALIZED (
    SELECT value->>0 AS id, (value->1)::bigint AS appends, string_to_array(nullif(value->>2, ''), ' ') AS words
      FROM jsonb_array_elements($1::jsonb)
  ), held AS MATERIALIZED (
    SELECT run.id, given.words FROM given JOIN troupe.run ON run.id = given.id
      WHERE run.appends = given.appends AND NOT run.removed FOR NO KEY UPDATE OF run SKIP LOCKED
  ), written AS (
    INSERT INTO troupe.run_text AS known (run, words)
      SELECT id, array_to_tsvector(coalesce(words, '{}')) FROM held
      ON CONFLICT (run) DO UPDATE SET words = excluded.words WHERE known.words <> excluded.words
  ), done AS (
    DELETE FROM troupe.text_due USING held WHERE text_due.run = held.id RETURNING 1
  )
  SELECT count(*) AS count FROM done`;

/** What is asked again and again while runs change. */
export const INDEX_STATEMENTS: readonly string[] = [TAKE, ARE_DUE, WRITE];
