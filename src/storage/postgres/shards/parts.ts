import { createHash } from "node:crypto";
import { AgentError } from "../../../errors.ts";
import type { NewAlias, RunAlias } from "../../../ports/log-batch.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import { toOwnedKey } from "../../shared/owned-keys.ts";
import type { Database, Transaction } from "../connection/database.ts";
import { KEEP_OLDER_OUT, SHARD_INDEX } from "../schema/shard-moves.ts";

/** The number of shards. It never changes: a run would be looked for elsewhere. */
export const SHARD_COUNT = 4_096;

/** The shard of a run: the first 12 bits of the SHA-256 of its id. */
export function shardOf(runId: RunId): number {
  const digest = digestOf(runId);
  return ((digest[0] ?? 0) << 4) | ((digest[1] ?? 0) >> 4);
}

/** What only one run of a log can have: the id of a request, or a name. */
export type UniqueKey = { readonly digest: string } & (
  | { readonly type: "request"; readonly requestId: RequestId; readonly owner: string }
  | { readonly type: "alias"; readonly alias: NewAlias }
);

export function requestKey(requestId: RequestId, owner: string): UniqueKey {
  return { type: "request", requestId, owner, digest: toDigest("request", toOwnedKey(requestId, owner)) };
}

export function aliasKey(alias: NewAlias): UniqueKey {
  return { type: "alias", alias, digest: aliasDigest(alias) };
}

/** The digest under which a name is reserved. */
export function aliasDigest({ owner, agent, name }: RunAlias): string {
  return toDigest("alias", `${toOwnedKey(agent, owner)} ${name}`);
}

/** The digest under which the id of a request is reserved. */
export function requestDigest(requestId: RequestId, owner: string): string {
  return toDigest("request", toOwnedKey(requestId, owner));
}

function toDigest(type: UniqueKey["type"], key: string): string {
  return digestOf(`${type} ${key}`).toString("hex", 0, 16);
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Says that another run has a key. */
export function toConflict(key: UniqueKey): AgentError {
  if (key.type === "request")
    return new AgentError("conflict", `request ${key.requestId} belongs to another run`);
  const { from, name } = key.alias;
  const what = from === undefined ? "another run has" : `run ${from} does not have`;
  return new AgentError("conflict", `${what} the alias ${name}`);
}

/** Which of the databases of a log one is. */
interface Part {
  /** Names the log. */
  readonly log: string;
  /** From 1, in the order in which they came to the log. */
  readonly number: number;
  /** The greatest number of a database of the log. */
  readonly parts: number;
}

/** Refuses to open one database of several as if it were a whole log. */
export async function checkAlone(database: Database): Promise<void> {
  const part = await findPart({ query: (text, values) => database.once(text, values) });
  if (part === undefined) return;
  throw new AgentError(
    "invalid_request",
    `the database is number ${part.number} of several databases of a log: ${database.address}`,
    { hint: ALL_IN_ORDER },
  );
}

/**
 * Makes one log of empty databases, or checks that they are those of one log, in their order; empty ones behind them are added to it.
 * Returns their numbers.
 */
export async function joinParts(
  databases: readonly Database[],
  { mayChange }: { readonly mayChange: boolean },
): Promise<readonly number[]> {
  const [first, ...others] = databases;
  if (first === undefined) throw new TypeError("a log needs a database");
  const { log, parts, numbers, isWhole } = await first.transact(async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `troupe shards ${first.schema}`,
    ]);
    const known = await findPart(transaction);
    if (known !== undefined && known.number !== 1) throw misplaced(first, known, 1);
    const id = known?.log ?? crypto.randomUUID();
    const given = [1];
    let newest = known?.parts ?? 1;
    let isNew = false;
    for (const other of others) {
      const part = await findPart({ query: (text, values) => other.once(text, values) });
      if (part === undefined) {
        if (!mayChange) throw notYet(other);
        await checkNew({ query: (text, values) => other.once(text, values) }, other);
        isNew = true;
        newest += 1;
        given.push(newest);
        continue;
      }
      // The number of a new one is greater than all that are known.
      const last = isNew ? Infinity : (given.at(-1) ?? 0);
      if (part.log !== id || part.number <= last) throw misplaced(other, part, given.length + 1);
      newest = Math.max(newest, part.number);
      given.push(part.number);
    }
    const shards = await transaction.query("SELECT FROM troupe.shard LIMIT 1");
    const isWhole = shards.length > 0;
    if (isWhole) {
      const needed = await transaction.query<{ number: number }>(NEEDED, [known?.parts ?? 1]);
      const missing = needed.find(({ number }) => !given.includes(number));
      if (missing !== undefined) throw isMissing(first, missing.number);
    }
    if (known === undefined) {
      if (!mayChange) throw notYet(first);
      await found(transaction, first, { log: id, number: 1, parts: newest });
    } else if (newest > known.parts) {
      await transaction.query("UPDATE troupe.part SET parts = $1", [newest]);
      await transaction.query(
        "INSERT INTO troupe.emptied SELECT generate_series($1::integer + 1, $2::integer)",
        [known.parts, newest],
      );
    }
    return { log: id, parts: newest, numbers: given, isWhole };
  });
  for (const [index, database] of others.entries())
    await database.transact(async (transaction) => {
      await transaction.query("LOCK TABLE troupe.part IN EXCLUSIVE MODE");
      const number = numbers[index + 1] ?? 0;
      const known = await findPart(transaction);
      if (known === undefined) await found(transaction, database, { log, number, parts });
      else if (known.log !== log || known.number !== number) throw misplaced(database, known, index + 2);
    });
  // The table of the shards is written last: with it, all databases know their places.
  if (!isWhole)
    await first.transact(async ({ query }) => {
      await query(ASSIGN, [numbers.map(String), SHARD_COUNT]);
      await query("DELETE FROM troupe.emptied USING troupe.shard WHERE number = part");
    });
  return numbers;
}

async function findPart({ query }: Transaction): Promise<Part | undefined> {
  const [part] = await query<Part>("SELECT log, number, parts FROM troupe.part");
  return part;
}

/** Writes which database of a log one is. */
async function found(transaction: Transaction, database: Database, part: Part): Promise<void> {
  await checkNew(transaction, database);
  await transaction.query("INSERT INTO troupe.part VALUES ($1, $2, $3)", [part.log, part.number, part.parts]);
  await transaction.query(KEEP_OLDER_OUT);
  const [{ isOwner } = { isOwner: false }] = await transaction.query<{ isOwner: boolean }>(IS_OWNER, [
    `${database.schema}.run`,
  ]);
  // Otherwise the first move of a shard makes it, by a role that may.
  if (isOwner) await transaction.query(SHARD_INDEX);
}

/** Refuses a database that has runs of its own. */
async function checkNew(transaction: Transaction, database: Database): Promise<void> {
  const [run] = await transaction.query("SELECT FROM troupe.run WHERE stored LIMIT 1");
  if (run === undefined) return;
  throw new AgentError(
    "invalid_request",
    `the database has the runs of a log in one database: ${database.address}`,
    {
      hint: "use empty databases, and copy the log into them: troupe copy --from OLD --to FIRST --to SECOND",
    },
  );
}

function isMissing(first: Database, number: number): AgentError {
  return new AgentError(
    "invalid_request",
    `database number ${number} of the log is not given, and has a part of it; its first database is ${first.address}`,
    {
      hint: `${ALL_IN_ORDER}; or move everything from it with \`troupe shards move --from ${number} --to 1\``,
    },
  );
}

function misplaced(database: Database, known: Part, place: number): AgentError {
  return new AgentError(
    "invalid_request",
    `database ${place} is number ${known.number} of ${place === known.number ? "another" : "a"} log: ${database.address}`,
    { hint: ALL_IN_ORDER },
  );
}

const ALL_IN_ORDER =
  "give all databases of one log, in their order, and new ones behind them: --log FIRST --log SECOND";

function notYet(database: Database): AgentError {
  return new AgentError(
    "invalid_request",
    `the database is not one of several of a log: ${database.address}`,
    {
      hint: "start a server with all databases first; a log in one database is copied into several: troupe copy --from OLD --to FIRST --to SECOND",
    },
  );
}

/** The numbers of the databases that have a part of the log. */
const NEEDED = `SELECT number FROM generate_series(1, $1::integer) AS number
  WHERE number NOT IN (SELECT emptied.number FROM troupe.emptied) OR number IN (SELECT part FROM troupe.shard UNION SELECT copy FROM troupe.shard WHERE copy IS NOT NULL)
  ORDER BY number`;

const IS_OWNER =
  "SELECT pg_has_role(relowner, 'USAGE') AS \"isOwner\" FROM pg_class WHERE oid = to_regclass($1)";

/** Gives each database the same number of shards, as far as they can be divided. */
const ASSIGN = `INSERT INTO troupe.shard (shard, part)
  SELECT n, ($1::smallint[])[n * cardinality($1::smallint[]) / $2::integer + 1] FROM generate_series(0, $2::integer - 1) AS n
  ON CONFLICT (shard) DO NOTHING`;
