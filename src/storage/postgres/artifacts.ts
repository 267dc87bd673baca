import { AgentError } from "../../errors.ts";
import { Unavailable } from "../../ports/event-log.ts";
import { oldestReservation, RESERVED } from "../../ports/artifact-store.ts";
import type {
  ArtifactFigures,
  ArtifactStore,
  NewArtifact,
  StoredArtifact,
} from "../../ports/artifact-store.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { Gathered } from "../../shared/gathered.ts";
import { draftOf } from "../shared/new-artifact.ts";
import type { ArtifactDraft } from "../shared/new-artifact.ts";
import { Database } from "./connection/database.ts";
import type { Transaction } from "./connection/database.ts";
import { stateOf } from "./connection/trouble.ts";
import type { PostgresConnection } from "./options.ts";

/** Opens the artifacts in the database of a log, whose tables exist. */
export async function postgresArtifacts(options: PostgresConnection): Promise<ArtifactStore> {
  const database = await Database.connect(options);
  return artifactsIn(database, () => database.close());
}

/** The artifacts in a database. Each is stored in one transaction, in chunks. */
export function artifactsIn(database: Database, close: () => Promise<unknown>): ArtifactStore {
  async function get(artifactId: ArtifactId): Promise<StoredArtifact | undefined> {
    const [row] = await database.ask<ArtifactColumns>(GET, [artifactId]);
    return row && toStored(row);
  }

  async function put(artifact: NewArtifact): Promise<StoredArtifact> {
    const draft = draftOf(artifact);
    const store = (body: Chunks) => (transaction: Transaction) => storeIn(transaction, artifact, draft, body);
    if (artifact.body instanceof Uint8Array) {
      // Reads it only to check its size.
      for await (const _ of draft.body);
      return database.transact(store(slice(artifact.body)));
    }
    const chunks = rechunk(draft.body);
    // A body that fits into one chunk is read before its transaction begins.
    const first = await chunks.next();
    const second = await chunks.next();
    const read = [first, second].flatMap(({ done, value }) => (done === true ? [] : [value]));
    if (second.done === true) return database.transact(store(read));
    return database.upload(store(concat(read, chunks)));
  }

  /** Removes the files of runs: those of an erasure together, in few transactions. */
  async function removeFiles(runIds: readonly RunId[]): Promise<void> {
    const files = await database.ask<OwnedFile>(
      `SELECT run, artifact AS id, coalesce((SELECT size FROM troupe.artifact WHERE id = artifact), 0) AS size
      FROM troupe.artifact_run WHERE run = ANY ($1) ORDER BY artifact, run`,
      [runIds],
    );
    for (const together of inPieces(files)) {
      await database.transact(async (transaction) => {
        const ids = [...new Set(together.map(({ id }) => id))];
        await lock(transaction, ids);
        await transaction.query(
          `DELETE FROM troupe.artifact_run WHERE (run, artifact) IN
          (SELECT * FROM unnest($1::text[], $2::text[]))`,
          [together.map(({ run }) => run), together.map(({ id }) => id)],
        );
        await removeLocked(transaction, ids);
      });
    }
  }

  const removals = new Gathered<RunId>(removeFiles, { limit: TOGETHER });
  const questions = new Gathered<Question>(findRuns, { limit: TOGETHER });

  async function findRuns(asked: readonly Question[]): Promise<void> {
    const rows = await database.ask<{ run: RunId }>(HAVING_FILES, [asked.map(({ runId }) => runId)]);
    const found = new Set(rows.map(({ run }) => run));
    for (const question of asked) question.hasFiles = found.has(question.runId);
  }

  return {
    put: (artifact) => put(artifact).catch(toRefusal),
    get,
    async *list({ waiting = false } = {}) {
      const values = waiting ? [RESERVED, oldestReservation(Infinity)] : [];
      for (let after = ""; ;) {
        const rows = await database.ask<ArtifactColumns>(waiting ? WAITING : LIST, [after, ...values]);
        for (const row of rows) yield toStored(row);
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.id;
      }
    },
    async *read(artifactId) {
      let rest = (await get(artifactId))?.sizeBytes;
      if (rest === undefined) throw notFound(artifactId);
      for (let n = 0; rest > 0; n += 1) {
        const [row] = await database.ask<{ bytes: Uint8Array }>(
          "SELECT bytes FROM troupe.artifact_chunk WHERE artifact = $1 AND n = $2",
          [artifactId, n],
        );
        // It was removed meanwhile.
        if (row === undefined) throw notFound(artifactId);
        rest -= row.bytes.byteLength;
        yield row.bytes;
      }
    },
    async attach(artifactIds, runId) {
      await database.transact((transaction) => attach(transaction, artifactIds, runId));
    },
    async detach(runId) {
      await database.ask("DELETE FROM troupe.artifact_run WHERE run = $1", [runId]);
    },
    async removeUnattached(before) {
      await database.ask("DELETE FROM troupe.artifact_run WHERE run >= $1 AND run < $2", [
        RESERVED,
        oldestReservation(before),
      ]);
      const rows = await database.ask<{ id: ArtifactId }>(
        `SELECT id FROM troupe.artifact WHERE ${IS_OLD} AND ${UNATTACHED}`,
        [toBefore(before)],
      );
      for (const { id } of rows) {
        await database.transact(async (transaction) => {
          await lock(transaction, [id]);
          await removeLocked(transaction, [id], before);
        });
      }
      const values = [RESERVED, oldestReservation(Infinity)];
      const [row] = await database.ask<{ n: number }>(REMAINING, values);
      return row?.n ?? 0;
    },
    async unattached() {
      const values = [RESERVED, oldestReservation(Infinity)];
      const [row] = await database.ask<ArtifactFigures>(WITHOUT_RUN, values);
      return row ?? { files: 0, bytes: 0 };
    },
    async size(runId) {
      const [row] =
        runId === undefined
          ? await database.ask<{ bytes: number }>(TOTAL)
          : await database.ask<{ bytes: number }>(OF_ONE_RUN, [runId]);
      return row?.bytes ?? 0;
    },
    async has(runId) {
      const question = { runId, hasFiles: false };
      await questions.add(question);
      return question.hasFiles;
    },
    removeRun: (runId) => removals.add(runId),
    async close() {
      await close();
    },
  };
}

/** Whether a run has files. Those that are asked for together are one statement. */
interface Question {
  readonly runId: RunId;
  hasFiles: boolean;
}

const HAVING_FILES = "SELECT DISTINCT run FROM troupe.artifact_run WHERE run = ANY ($1)";

/** A file without room is refused: its sender must not try again at once, as after another failure of the database. */
function toRefusal(error: unknown): never {
  if (!(error instanceof Unavailable) || stateOf(error.cause) !== DISK_FULL) throw error;
  throw new AgentError("insufficient_storage", "the file is not stored: the disk of the database is full", {
    hint: "free space on the disk of the database, or have the server remove old runs with their files",
    cause: error,
  });
}

const DISK_FULL = "53100";

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

async function storeIn(
  transaction: Transaction,
  { artifactId, runId, mimeType, createdAt }: NewArtifact,
  draft: ArtifactDraft,
  body: Chunks,
): Promise<StoredArtifact> {
  // Locks the artifact, so that two that store it follow one another.
  await transaction.query(
    `INSERT INTO troupe.artifact (id, created_at, name, mime_type, size) VALUES ($1, $2, '', $3, 0)
    ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, mime_type = excluded.mime_type`,
    [artifactId, createdAt ?? null, mimeType],
  );
  await transaction.query("DELETE FROM troupe.artifact_chunk WHERE artifact = $1", [artifactId]);
  let [size, n] = [0, 0];
  for await (const bytes of body) {
    await transaction.query("INSERT INTO troupe.artifact_chunk VALUES ($1, $2, $3)", [artifactId, n, bytes]);
    n += 1;
    size += bytes.byteLength;
  }
  const { name, sizeBytes } = draft.toStored(size, undefined);
  await transaction.query("UPDATE troupe.artifact SET name = $2, size = $3 WHERE id = $1", [
    artifactId,
    name,
    sizeBytes,
  ]);
  if (runId !== undefined) await attach(transaction, [artifactId], runId);
  const [row] = await transaction.query<ArtifactColumns>(GET, [artifactId]);
  if (row === undefined) throw new AgentError("internal", `artifact ${artifactId} was not stored`);
  return toStored(row);
}

/** Adds a run to artifacts that exist, each of which is locked. */
async function attach(
  transaction: Transaction,
  artifactIds: readonly ArtifactId[],
  runId: RunId,
): Promise<void> {
  await lock(transaction, artifactIds);
  await transaction.query(
    `INSERT INTO troupe.artifact_run (run, artifact) SELECT $2, id FROM troupe.artifact WHERE id = ANY ($1)
    ON CONFLICT DO NOTHING`,
    [artifactIds, runId],
  );
}

/** What a run got before the lock is seen by the next statement; what it gets later waits for the end of the transaction. */
async function lock(transaction: Transaction, artifactIds: readonly ArtifactId[]): Promise<void> {
  const text = "SELECT FROM troupe.artifact WHERE id = ANY ($1) ORDER BY id FOR UPDATE";
  await transaction.query(text, [artifactIds]);
}

/** Removes locked artifacts that have no run and were created before a time. */
async function removeLocked(
  transaction: Transaction,
  artifactIds: readonly ArtifactId[],
  before: number = Infinity,
): Promise<void> {
  await transaction.query(
    `WITH removed AS (DELETE FROM troupe.artifact WHERE ${IS_OLD} AND id = ANY ($2) AND ${UNATTACHED} RETURNING id)
    DELETE FROM troupe.artifact_chunk USING removed WHERE artifact = removed.id`,
    [toBefore(before), artifactIds],
  );
}

/** A file of a run that is removed. */
interface OwnedFile {
  readonly run: RunId;
  readonly id: ArtifactId;
  readonly size: number;
}

/** The files for a transaction each: what is in it is deleted within the time of a statement. */
function* inPieces(files: readonly OwnedFile[]): Generator<readonly OwnedFile[], void> {
  let piece: OwnedFile[] = [];
  let bytes = 0;
  for (const file of files) {
    bytes += file.size;
    if (piece.length > 0 && (piece.length === TOGETHER || bytes > TOGETHER_BYTES)) {
      yield piece;
      piece = [];
      bytes = file.size;
    }
    piece.push(file);
  }
  if (piece.length > 0) yield piece;
}

/** How many runs, and how many files of so many bytes, are removed together. */
const TOGETHER = 100;
const TOGETHER_BYTES = 16 * 1024 * 1024;

/** A time as the database compares it. */
function toBefore(before: number): number {
  return Math.min(before, Number.MAX_SAFE_INTEGER);
}

/** The chunks of a body in memory. */
function slice(body: Uint8Array): Chunks {
  const count = Math.ceil(body.byteLength / CHUNK_BYTES);
  return Array.from({ length: count }, (_, n) => body.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES));
}

async function* concat(first: Chunks, rest: Chunks): AsyncGenerator<Uint8Array, void> {
  yield* first;
  yield* rest;
}

function notFound(artifactId: string): AgentError {
  return new AgentError("not_found", `there is no artifact ${artifactId}`);
}

/** Makes chunks of one size, except the last one. */
async function* rechunk(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let chunk = new Uint8Array(CHUNK_BYTES);
  let used = 0;
  for await (const bytes of body) {
    for (let at = 0; at < bytes.byteLength;) {
      const part = bytes.subarray(at, at + CHUNK_BYTES - used);
      chunk.set(part, used);
      used += part.byteLength;
      at += part.byteLength;
      if (used < CHUNK_BYTES) continue;
      yield chunk;
      chunk = new Uint8Array(CHUNK_BYTES);
      used = 0;
    }
  }
  if (used > 0) yield chunk.subarray(0, used);
}

const CHUNK_BYTES = 256 * 1024;

/** Whether an artifact was created before a time, or at an unknown time. */
const IS_OLD = "coalesce(created_at, 0) < $1";

const UNATTACHED = "NOT EXISTS (SELECT FROM troupe.artifact_run WHERE artifact_run.artifact = artifact.id)";

const REMAINING = `SELECT (SELECT count(*) FROM troupe.artifact WHERE ${UNATTACHED})
  + (SELECT count(DISTINCT artifact) FROM troupe.artifact_run WHERE run >= $1 AND run < $2) AS n`;

const WITHOUT_RUN = `SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS bytes FROM troupe.artifact
  WHERE NOT EXISTS (SELECT FROM troupe.artifact_run
    WHERE artifact_run.artifact = artifact.id AND NOT (run >= $1 AND run < $2))`;

const ARTIFACT = `SELECT id, created_at, name, mime_type, size,
  ARRAY(SELECT run FROM troupe.artifact_run WHERE artifact = id ORDER BY seq) AS runs
  FROM troupe.artifact`;

const GET = `${ARTIFACT} WHERE id = $1`;

const LIST = `${ARTIFACT} WHERE id > $1 ORDER BY id LIMIT 500`;

const WAITING = `${ARTIFACT} WHERE id > $1 AND NOT EXISTS (SELECT FROM troupe.artifact_run
    WHERE artifact_run.artifact = artifact.id AND NOT (run >= $2 AND run < $3)) ORDER BY id LIMIT 500`;

const TOTAL = "SELECT coalesce(sum(size), 0)::bigint AS bytes FROM troupe.artifact";

const OF_ONE_RUN = `SELECT coalesce(sum(size), 0)::bigint AS bytes FROM troupe.artifact
  WHERE id IN (SELECT artifact FROM troupe.artifact_run WHERE run = $1) AND NOT EXISTS
    (SELECT FROM troupe.artifact_run AS other WHERE other.artifact = artifact.id AND other.run <> $1)`;

interface ArtifactColumns {
  readonly id: ArtifactId;
  readonly created_at: number | null;
  readonly name: string;
  readonly mime_type: string;
  readonly size: number;
  readonly runs: readonly RunId[];
}

function toStored({ id, created_at, name, mime_type, size, runs }: ArtifactColumns): StoredArtifact {
  return {
    artifactId: id,
    runIds: runs,
    ...(created_at !== null && { createdAt: created_at }),
    name,
    mimeType: mime_type,
    sizeBytes: size,
  };
}
