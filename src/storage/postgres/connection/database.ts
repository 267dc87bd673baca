import type { Client, Pool, QueryConfig } from "pg";
import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import type { PostgresConnection } from "../options.ts";
import { Connections, loadPg } from "./connections.ts";
import type { Pg } from "./connections.ts";
import { readService } from "./service.ts";
import { DatabaseAway, isInvalidValue, isTransient, NO_ANSWER, stateOf, toReason } from "./trouble.ts";

/** A value of a statement. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[];

/** A connection for several statements in one transaction. */
export interface Transaction {
  query<Row extends object>(text: string, values?: readonly Value[]): Promise<readonly Row[]>;
}

/** The connections to a database, and how its statements are repeated after a lost connection. */
export class Database {
  readonly #connections: Connections;
  readonly #prefix: string;
  readonly #texts = new Map<string, string>();
  /** The names of the statements that the server is to plan once for a connection. */
  readonly #names = new Map<string, string>();
  readonly #settleMs: number;
  readonly #readers: Pool;
  readonly #writers: Pool;
  /** Of their own, so that slow uploads leave the others to claims, queries and heartbeats. */
  readonly #uploaders: Pool;
  /** The number of running uploads. */
  #uploads = 0;
  /** One connection of its own, so that slow reads delay no heartbeat: the other nodes would judge this one dead. */
  readonly #heartbeats: Pool;
  /** One connection that asks whether the database answers, while nothing else asks it anything. */
  readonly #probes: Pool;
  /** One connection for changes of the schema, which nothing else waits for. */
  readonly #changes: Pool;
  readonly schema: string;
  /** The number of statements that were sent again. */
  retries = 0;
  #answeredMs = performance.now();
  #silentSinceMs: number | undefined;
  /** How many statements run, and since when the database owes an answer to one of them, or to one that has failed. */
  #running = 0;
  #owedSinceMs: number | undefined;
  /** What waits for the database, with the time when it stops waiting for one that is silent. */
  readonly #waiting = new Set<{ readonly untilMs: number; refuse(): void }>();
  #closing: Promise<unknown> | undefined;

  constructor(pg: Pg, options: PostgresConnection & { readonly settleMs?: number }) {
    const { max = 8, schema = "troupe", settleMs = 15_000 } = options;
    if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) {
      throw new AgentError("invalid_request", `the schema "${schema}" is not a name of PostgreSQL`, {
        hint: "use small letters, digits and _, at most 51",
      });
    }
    this.schema = schema;
    this.#prefix = `${schema}.`;
    this.#settleMs = settleMs;
    this.#connections = new Connections(pg, options);
    this.#readers = this.#connections.pool({ max, min: 1, statementMs: QUERY_MS });
    this.#uploaders = this.#connections.pool({ max, statementMs: QUERY_MS });
    this.#heartbeats = this.#connections.pool({ max: 1, statementMs: HEARTBEAT_MS });
    this.#writers = this.#connections.pool({ max: WRITERS, statementMs: WRITE_MS });
    this.#changes = this.#connections.pool({ max: 1, statementMs: CHANGE_MS });
    this.#probes = this.#connections.pool({ max: 1, statementMs: PROBE_MS, connectMs: PROBE_MS });
  }

  static async connect(options: PostgresConnection & { readonly settleMs?: number }): Promise<Database> {
    const service = readService(options);
    const { url: _url, ...others } = options;
    return new Database(await loadPg(), service === undefined ? options : { ...service, ...others });
  }

  /** What its connections for questions and appends do. */
  get load(): {
    readonly connections: number;
    readonly busyConnections: number;
    readonly waitingStatements: number;
  } {
    const pools = [this.#readers, this.#writers];
    const sum = (count: (pool: Pool) => number): number =>
      pools.reduce((total, pool) => total + count(pool), 0);
    return {
      connections: sum((pool) => pool.totalCount),
      busyConnections: sum((pool) => pool.totalCount - pool.idleCount),
      waitingStatements: sum((pool) => pool.waitingCount),
    };
  }

  /** Has the server plan statements once for each connection, unless a pooler stands between. They are few, and find rows by a key. */
  prepare(texts: Iterable<string>): void {
    for (const text of texts) {
      // PostgreSQL lists them by name; it takes 63 characters.
      if (!this.#names.has(text)) this.#names.set(text, `${text.trim().slice(0, 50)} #${this.#names.size}`);
    }
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** A statement that may run twice; it is repeated after a lost connection. */
  ask<Row extends object>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#repeat(() => this.#run<Row>(this.#readers, text, values).catch(toFailure));
  }

  /** One attempt of a statement on a connection for appends. A database that is silent has until a time to answer. */
  write<Row extends object>(
    text: string,
    values: readonly Value[],
    untilMs: number = Infinity,
  ): Promise<readonly Row[]> {
    return this.#bounded(untilMs, this.#run<Row>(this.#writers, text, values));
  }

  /** Resolves when a synchronous standby has all that a statement has found. */
  confirm(): Promise<void> {
    return this.#repeat(() => this.commit().catch(toFailure));
  }

  /**
   * One attempt of a commit, which ends when a synchronous standby has it and all commits before. What a statement finds was
   * stored by this server, but not necessarily by the standby, if its commit was interrupted.
   */
  async commit(): Promise<void> {
    await this.write("UPDATE troupe.probe SET written = now()", []);
  }

  /** One attempt of a statement, without repetition. */
  once<Row extends object>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#run(this.#readers, text, values);
  }

  /** One attempt of a heartbeat. It is not repeated: a node that cannot reach the database has to know that. */
  heartbeat<Row extends object>(text: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.#run(this.#heartbeats, text, values);
  }

  /** Asks whether the database answers. */
  async probe(): Promise<void> {
    await this.#run(this.#probes, "SELECT 1", []);
  }

  /** The time since the newest answer. */
  get unansweredMs(): number {
    return performance.now() - this.#answeredMs;
  }

  /** For how long the database has answered nothing, although it was asked. */
  get owedMs(): number {
    return this.#owedSinceMs === undefined ? 0 : performance.now() - this.#owedSinceMs;
  }

  /** Whether the database has answered nothing for a while, not even a probe. */
  get isSilent(): boolean {
    return this.#silentSinceMs !== undefined;
  }

  /** A probe has got no answer. What has waited for long enough is refused, until the database answers again. */
  fallSilent(): void {
    this.#silentSinceMs ??= this.#answeredMs;
    for (const waiting of this.#waiting) if (performance.now() >= waiting.untilMs) waiting.refuse();
  }

  /** A transaction that may run twice; it is repeated after a lost connection. */
  transact<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#repeat(() => this.#transact(this.#readers, IDLE_MS, work));
  }

  /** The same for a change of the schema, which takes the longer the more there is. */
  change<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#repeat(() => this.#transact(this.#changes, IDLE_MS, work));
  }

  /** A statement of such a change outside of a transaction. */
  async long(text: string): Promise<void> {
    await this.#run(this.#changes, text, []);
  }

  /** A transaction of work in the background, which asks questions besides and must not take their connections. */
  background<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#transact(this.#uploaders, IDLE_MS, work);
  }

  /**
   * A transaction that waits for the bytes of a client. It cannot run twice, may rest for longer, and has connections of its
   * own, so that slow clients leave the others to the log and to the files of agents. Fails with `overloaded` if none of
   * them becomes free in time.
   */
  async upload<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    let hasBegun = false;
    const begin = async (transaction: Transaction): Promise<Result> => {
      hasBegun = true;
      this.#uploads += 1;
      try {
        return await work(transaction);
      } finally {
        this.#uploads -= 1;
      }
    };
    try {
      return await this.#bounded(this.deadline(), this.#transact(this.#uploaders, IDLE_UPLOAD_MS, begin));
    } catch (error) {
      const count = this.#uploads;
      if (hasBegun || this.isSilent || count < this.#uploaders.options.max) throw toFinal(error);
      const fact = `${count} files are already being stored on this node`;
      throw new AgentError("overloaded", fact, { retryAfterS: 1, cause: error });
    }
  }

  /** Repeats what fails with `Unavailable`, if it can succeed a little later. */
  async #repeat<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const until = this.deadline();
    if (this.isSilent && performance.now() >= until) throw new DatabaseAway(new Error(NO_ANSWER));
    for (let failures = 0; ; failures += 1) {
      const waitMs = backoffMs(RETRY, failures);
      this.#checkOpen();
      try {
        return await this.#bounded(until, attempt());
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#checkOpen();
        if (!isTransient(error.cause) || performance.now() + waitMs > until) throw toFinal(error);
        this.retries += 1;
        await delay(waitMs);
      }
    }
  }

  async #transact<Result>(
    pool: Pool,
    idleMs: number,
    work: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    this.#checkOpen();
    const client = await pool.connect().catch(toFailure);
    let failure: Error | undefined;
    const fail = (error: Error): void => {
      failure = error;
    };
    client.on("error", fail);
    const query = async <Row extends object>(text: string, values: readonly Value[] = []) => {
      const asked = this.#answered(() => client.query<Row>(this.#toQuery(text, values)));
      const { rows } = await asked.catch(toFailure);
      return rows;
    };
    try {
      // The server ends the transaction of a node that has vanished, which would keep its locks.
      await query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`);
      const result = await work({ query });
      await query("COMMIT");
      return result;
    } catch (error) {
      // A connection that does not answer is closed, which ends its transaction.
      if (error instanceof Unavailable && stateOf(error.cause) === undefined) fail(error);
      else await client.query("ROLLBACK").catch(fail);
      throw error;
    } finally {
      client.off("error", fail);
      client.release(failure);
    }
  }

  /** Where the database is, for people: without the password. */
  get address(): string {
    return this.#connections.addressOf();
  }

  /** The same for another address. */
  addressOf(url?: string): string {
    return this.#connections.addressOf(url);
  }

  /** Opens a connection outside the pools; `url` replaces the address. Its owner ends it. */
  session(url?: string): Promise<Client> {
    return this.#connections.connect(SESSION_MS, url);
  }

  /** The statement for the schema of this log. */
  sql(text: string): string {
    if (this.schema === "troupe") return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const own = text.replaceAll(/\btroupe\./g, this.#prefix);
    this.#texts.set(text, own);
    return own;
  }

  /** When a statement that starts now stops being repeated. A database that is silent is given one such time for all. */
  deadline(): number {
    return (this.#silentSinceMs ?? performance.now()) + this.#settleMs;
  }

  /** Closes all connections, after a time also those whose statements still run. */
  close(): Promise<unknown> {
    return (this.#closing ??= Promise.all([
      ...[this.#readers, this.#writers, this.#uploaders, this.#heartbeats, this.#probes, this.#changes].map(
        (pool) => pool.end(),
      ),
      this.#connections.closed(),
    ]));
  }

  async #run<Row extends object>(
    pool: Pool,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    const { rows } = await this.#answered(() => pool.query<Row>(this.#toQuery(text, values)));
    return rows;
  }

  /** Runs a statement, and notices its answer; a refusal is one too, unless the database cannot be reached. */
  async #answered<Result>(statement: () => Promise<Result>): Promise<Result> {
    this.#running += 1;
    this.#owedSinceMs ??= performance.now();
    try {
      const result = await statement();
      this.#running -= 1;
      this.#hear();
      return result;
    } catch (error) {
      this.#running -= 1;
      if (!isTransient(error)) this.#owe();
      throw error;
    }
  }

  /** From now on the database owes an answer if a statement still runs. */
  #owe(): void {
    this.#owedSinceMs = this.#running > 0 ? performance.now() : undefined;
  }

  #toQuery(text: string, values: readonly Value[]): QueryConfig {
    const name = this.#connections.isDirect ? this.#names.get(text) : undefined;
    return { text: this.sql(text), values: [...values], ...(name !== undefined && { name }) };
  }

  /** The database has answered. */
  #hear(): void {
    this.#answeredMs = performance.now();
    this.#owe();
    if (this.#silentSinceMs === undefined) return;
    this.#silentSinceMs = undefined;
    this.#connections.refresh();
  }

  /** Stops waiting for a silent database at a time. What was sent may still arrive. */
  async #bounded<Result>(untilMs: number, attempt: Promise<Result>): Promise<Result> {
    const { promise: refused, reject } = Promise.withResolvers<never>();
    const waiting = { untilMs, refuse: () => reject(toSilent()) };
    this.#waiting.add(waiting);
    try {
      return await Promise.race([attempt, refused]);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  #checkOpen(): void {
    // Not a fault: a stopping server still has readers.
    if (this.isClosed) throw new AgentError("unavailable", "the log is closed", { retryAfterS: 1 });
  }
}

/** What a client has sent is at fault, and not the log. */
export function toInvalid(cause: unknown): AgentError {
  return new AgentError("invalid_request", "a text has characters that the database cannot store", {
    hint: "leave out U+0000 and halves of surrogate pairs",
    cause,
  });
}

function toFailure(error: unknown): never {
  if (isInvalidValue(error)) throw toInvalid(error);
  throw new Unavailable(`the database has failed: ${toReason(error)}`, { cause: error });
}

/** The failure of what is not repeated any more. What can succeed later is no fault, and its caller tries again. */
function toFinal(error: unknown): unknown {
  return error instanceof Unavailable && isTransient(error.cause) ? new DatabaseAway(error.cause) : error;
}

function toSilent(): Unavailable {
  const cause = new Error(NO_ANSWER);
  return new Unavailable(`the database has failed: ${toReason(cause)}`, { cause });
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Waits between repetitions. */
export const RETRY = { firstMs: 50, mostMs: 1_000 };

/** The limits of statements. After them the connection is given up. */
const QUERY_MS = 15_000;
const WRITE_MS = 5_000;
const CHANGE_MS = 4 * 3_600_000;
const SESSION_MS = 5_000;
/** Short, so that a node knows within 4 s that the database answers nothing, and within 2 s that it does again. */
const PROBE_MS = 1_500;
/** Longer than a node lives without a heartbeat; then a new connection is tried. */
const HEARTBEAT_MS = 3_000;

/**
 * How long a transaction may wait for its next statement: as long as a node lives without a heartbeat, because the node that
 * takes over its runs needs the rows that it has locked. That of an upload waits for the client.
 */
const IDLE_MS = 1_500;
const IDLE_UPLOAD_MS = 60_000;

/** Two, so that the next appends travel while the server syncs the last ones. */
export const WRITERS = 2;
