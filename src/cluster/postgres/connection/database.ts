import { userInfo } from "node:os";
import type { Client, ClientConfig, Pool, PoolConfig } from "pg";
import { AgentError, messageOf } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import type { PostgresConnection } from "../options.ts";
import { loadPg } from "./load-pg.ts";
import type { Pg } from "./load-pg.ts";
import { readService } from "./service.ts";
import { isInvalidValue, isTransient, toReason } from "./trouble.ts";

/** A value of a statement. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[];

/** A connection for several statements in one transaction. */
export interface Transaction {
  query<Row extends object>(text: string, values?: readonly Value[]): Promise<readonly Row[]>;
}

/** The connections to a database, and how its statements are repeated after a lost connection. */
export class Database {
  readonly #pg: Pg;
  readonly #config: ClientConfig;
  readonly #prefix: string;
  readonly #texts = new Map<string, string>();
  readonly #settleMs: number;
  readonly #readers: Pool;
  readonly #writers: Pool;
  /** Of their own, so that slow uploads leave the others to claims, queries and beats. */
  readonly #uploaders: Pool;
  /** One connection of its own, so that slow reads delay no beat: the other nodes would judge this one dead. */
  readonly #beats: Pool;
  readonly schema: string;
  /** The number of statements that were sent again. */
  retries = 0;
  #closing: Promise<unknown> | undefined;

  constructor(pg: Pg, options: PostgresConnection & { readonly settleMs?: number }) {
    const {
      url,
      max = 8,
      schema = "troupe",
      settleMs = 15_000,
      host,
      port,
      database,
      user,
      password,
      ssl,
    } = options;
    if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) {
      throw new AgentError("invalid_request", `the schema "${schema}" is not a name of PostgreSQL`, {
        hint: "use small letters, digits and _, at most 51",
      });
    }
    this.#pg = pg;
    this.schema = schema;
    this.#prefix = `${schema}.`;
    this.#settleMs = settleMs;
    this.#config = {
      ...(url !== undefined && { connectionString: withUser(url) }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
      ...(database !== undefined && { database }),
      ...toUser(user),
      ...(password !== undefined && { password }),
      ...(ssl !== undefined && { ssl }),
      application_name: "troupe",
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      types: toTypes(pg),
    };
    this.#readers = this.#pool({ max, query_timeout: QUERY_MS });
    this.#uploaders = this.#pool({ max, query_timeout: QUERY_MS });
    this.#beats = this.#pool({ max: 1, query_timeout: BEAT_MS });
    this.#writers = this.#pool({ max: WRITERS, query_timeout: WRITE_MS });
  }

  static async connect(options: PostgresConnection & { readonly settleMs?: number }): Promise<Database> {
    const service = readService(options);
    const { url: _url, ...others } = options;
    const database = new Database(
      await loadPg(),
      service === undefined ? options : { ...service, ...others },
    );
    // The library reads the address and its files only here, and connects later.
    if (database.client().host.includes(",")) {
      throw new AgentError("invalid_request", "the address of the database has several hosts", {
        hint: "give one host, whose name or address moves with the primary server",
      });
    }
    return database;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** A statement that may run twice; it is repeated after a lost connection. */
  ask<Row extends object>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#repeat(async () => {
      try {
        return await this.#run<Row>(this.#readers, text, values);
      } catch (error) {
        if (isInvalidValue(error)) throw toInvalid(error);
        throw new Unavailable(`the log cannot be read here: ${toReason(error)}`, { cause: error });
      }
    });
  }

  /** One attempt of a statement on a connection for appends. */
  write<Row extends object>(text: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.#run(this.#writers, text, values);
  }

  /** One attempt of a statement, without repetition. */
  once<Row extends object>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#run(this.#readers, text, values);
  }

  /** One attempt of a beat. It is not repeated: a node that cannot reach the database has to know that. */
  beat<Row extends object>(text: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.#run(this.#beats, text, values);
  }

  /** A transaction that may run twice; it is repeated after a lost connection. */
  transact<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#repeat(() => this.#transact(this.#readers, work));
  }

  /** A transaction that lasts while another client sends data. It is repeated if it may run twice. */
  upload<Result>(
    work: (transaction: Transaction) => Promise<Result>,
    { mayRunTwice }: { readonly mayRunTwice: boolean },
  ): Promise<Result> {
    const attempt = (): Promise<Result> => this.#transact(this.#uploaders, work);
    return mayRunTwice ? this.#repeat(attempt) : attempt();
  }

  /** Repeats what fails with `Unavailable`, if it can succeed a little later. */
  async #repeat<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const until = this.deadline();
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MOST_WAIT_MS)) {
      this.#checkOpen();
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#checkOpen();
        if (!isTransient(error.cause) || performance.now() + wait > until) throw error;
        this.retries += 1;
        await delay(wait);
      }
    }
  }

  async #transact<Result>(pool: Pool, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    this.#checkOpen();
    const client = await pool.connect().catch(toUnavailable);
    let failure: Error | undefined;
    const fail = (error: Error): void => {
      failure = error;
    };
    client.on("error", fail);
    const query = async <Row extends object>(text: string, values: readonly Value[] = []) =>
      (await client.query<Row>(this.sql(text), [...values]).catch(toUnavailable)).rows;
    try {
      await query("BEGIN");
      const result = await work({ query });
      await query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(fail);
      throw error;
    } finally {
      client.off("error", fail);
      client.release(failure);
    }
  }

  /** Where the database is, for people: without the password. */
  get address(): string {
    return this.addressOf();
  }

  /** The same for another address. */
  addressOf(url?: string): string {
    const { host, port, database, user } = this.client(url);
    return `${database ?? "the database"} at ${host}:${port} as ${user ?? "no user"}`;
  }

  /** A connection outside the pools; `url` replaces the address. Fails if an address cannot be used. */
  client(url?: string): Client {
    const config = {
      ...this.#config,
      ...(url !== undefined && { connectionString: withUser(url) }),
      query_timeout: LISTEN_MS,
    };
    try {
      return new this.#pg.Client(config);
    } catch (cause) {
      throw new AgentError(
        "invalid_request",
        `the address of the database cannot be used: ${messageOf(cause)}`,
        { hint: "correct it; sslrootcert, sslcert and sslkey name files of this machine", cause },
      );
    }
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

  /** When a statement that starts now stops being repeated. */
  deadline(): number {
    return performance.now() + this.#settleMs;
  }

  close(): Promise<unknown> {
    return (this.#closing ??= Promise.all(
      [this.#readers, this.#writers, this.#uploaders, this.#beats].map((pool) => pool.end()),
    ));
  }

  async #run<Row extends object>(
    pool: Pool,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    return (await pool.query<Row>(this.sql(text), [...values])).rows;
  }

  #pool(config: PoolConfig): Pool {
    const pool = new this.#pg.Pool({ ...this.#config, ...config });
    // An idle connection that breaks is replaced with the next statement.
    pool.on("error", () => {});
    return pool;
  }

  #checkOpen(): void {
    // Not a fault: a stopping server still has readers.
    if (this.isClosed) throw new AgentError("unavailable", "the log is closed", { retryAfterS: 1 });
  }
}

/** The user of an address without one, as psql finds it. The library asks only USER, which services often do not have. */
function toUser(given?: string): { readonly user?: string } {
  const { PGUSER, USER } = process.env;
  const user = [given, PGUSER, USER].find((name) => name !== undefined && name !== "") ?? osUser();
  return user === undefined ? {} : { user };
}

/** The address with its user, because the library prefers an address without a user to the option. */
function withUser(url: string): string {
  const { user } = toUser();
  const hasUser = /^\w+:\/\/[^/?#]*@|[?&](?:user|service)=/.test(url);
  if (hasUser || user === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}user=${encodeURIComponent(user)}`;
}

/** The name of the user of this process; `undefined` if the system has no name for it. */
function osUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** What a client has sent is at fault, and not the log. */
export function toInvalid(cause: unknown): AgentError {
  return new AgentError("invalid_request", "a text has characters that the database cannot store", {
    hint: "leave out U+0000 and halves of surrogate pairs",
    cause,
  });
}

function toUnavailable(error: unknown): never {
  throw new Unavailable(`the database has failed: ${toReason(error)}`, { cause: error });
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Waits between repetitions. */
export const FIRST_WAIT_MS = 50;
export const MOST_WAIT_MS = 1_000;

const CONNECT_MS = 5_000;
/** After this the connection is given up; the server may still execute the statement. */
const QUERY_MS = 15_000;
const WRITE_MS = 5_000;
const LISTEN_MS = 5_000;
/** Longer than a node lives without a beat; then a new connection is tried. */
const BEAT_MS = 3_000;

/** Two, so that the next appends travel while the server syncs the last ones. */
export const WRITERS = 2;

/** All numbers are below 2^53. */
function toTypes({ types, TypeOverrides }: Pg): InstanceType<Pg["TypeOverrides"]> {
  const own = new TypeOverrides();
  own.setTypeParser(types.builtins.INT8, Number);
  return own;
}
