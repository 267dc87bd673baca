import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { toChecksum, toHash } from "../../../src/storage/sqlite/format/chain.ts";
import { readHeadFile } from "../../../src/storage/sqlite/format/head-file.ts";

/**
 * Recomputes the hash of every batch of a log from the database and compares the head file with them. Returns
 * the differences.
 */
export function checkChain(directory: string): string[] {
  const database = new DatabaseSync(join(directory, "log.db"));
  try {
    // A server that is killed in its first start may not have created the table.
    if (database.prepare("PRAGMA user_version").get()?.["user_version"] === 0) return [];
    const wrong: string[] = [];
    const batches = database
      .prepare("SELECT n, hash, first_chunk, recent FROM batch ORDER BY n")
      .all() as unknown as Row[];
    const checksums = readChecksums(database, new Set(batches.map(({ first_chunk }) => first_chunk)));
    let previous = "";
    for (const { n, hash, first_chunk, recent } of batches) {
      const own = first_chunk === null ? [] : (checksums.get(first_chunk) ?? []);
      if (toHash(previous, n, own, recent) !== hash) wrong.push(`batch ${n} is not what its hash says`);
      previous = hash;
    }
    const head = readHeadFile(join(directory, "head"));
    if (
      head !== undefined &&
      head.batch > 0 &&
      batches.find(({ n }) => n === head.batch)?.hash !== head.hash
    ) {
      wrong.push(`the head file names a batch ${head.batch} that the log does not have`);
    }
    return wrong;
  } finally {
    database.close();
  }
}

interface Row {
  readonly n: number;
  readonly hash: string;
  readonly first_chunk: number | null;
  readonly recent: string | null;
}

/** The checksums of all chunks, by the first chunk of their batch. */
function readChecksums(database: DatabaseSync, firsts: ReadonlySet<number | null>): Map<number, number[]> {
  const chunks = database.prepare(
    `SELECT seq, rid, first, last, records_end AS recordsEnd, CAST(body AS BLOB) AS body, records
     FROM chunk ORDER BY seq`,
  );
  const found = new Map<number, number[]>();
  let current: number[] = [];
  for (const row of chunks.iterate()) {
    const { seq, rid, first, last, recordsEnd, body, records } = row as unknown as {
      readonly seq: number;
      readonly rid: number;
      readonly first: number;
      readonly last: number;
      readonly recordsEnd: number;
      readonly body: Uint8Array;
      readonly records: string | null;
    };
    if (firsts.has(seq)) {
      current = [];
      found.set(seq, current);
    }
    current.push(toChecksum({ rid, first, last, records: recordsEnd }, body, records));
  }
  return found;
}
