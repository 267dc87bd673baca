import { Socket } from "node:net";
import { callbackify } from "node:util";
import type { Client, ClientBase, ClientConfig, Pool } from "pg";
import { AgentError, messageOf } from "../../../errors.ts";
import type { PostgresConnection } from "../options.ts";
import type * as pg from "pg";
import { userInfo } from "node:os";

/** The limits of the connections of a pool. */
interface PoolLimits {
  /** The number of connections, and how many of them stay while nothing needs them. Default: none. */
  readonly max: number;
  readonly min?: number;
  /** The time of a statement; the server ends it shortly before. */
  readonly statementMs: number;
  /** The time of a new connection. Default 5 s. */
  readonly connectMs?: number;
}

/** Makes the connections to a database, and closes them also if the database does not answer. */
export class Connections {
  readonly #pg: Pg;
  readonly #config: ClientConfig;
  readonly #user: string | undefined;
  readonly #client: typeof Client;
  readonly #sockets = new Set<Socket>();
  #isDirect = false;
  #onClosed: (() => void) | undefined;

  constructor(pg: Pg, { url, host, port, database, user, password, ssl }: PostgresConnection) {
    this.#pg = pg;
    this.#user = user;
    this.#client = toClient(pg, password);
    this.#config = {
      ...(url !== undefined && { connectionString: withUser(url, user) }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
      ...(database !== undefined && { database }),
      ...toUser(user),
      ...(ssl !== undefined && { ssl }),
      application_name: "troupe",
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_S * 1_000,
      connectionTimeoutMillis: CONNECT_MS,
      types: toTypes(pg),
    };
    // The library reads the address and its files only here, and connects later.
    if (this.#read().host.includes(",")) {
      throw new AgentError("invalid_request", "the address of the database has several hosts", {
        hint: "give one host, whose name or address moves with the primary server",
      });
    }
  }

  /** Where the database is, for people: without the password. `url` replaces the address. */
  addressOf(url?: string): string {
    const { host, port, database, user } = this.#read(url);
    return `${database ?? "the database"} at ${host}:${port} as ${user ?? "no user"}`;
  }

  pool({ max, min = 0, statementMs, connectMs = CONNECT_MS }: PoolLimits): Pool {
    const pool = new this.#pg.Pool({
      ...this.#config,
      stream: this.#open,
      Client: this.#client,
      max,
      min,
      idleTimeoutMillis: IDLE_MS,
      query_timeout: statementMs,
      connectionTimeoutMillis: connectMs,
      verify: callbackify(async (client: ClientBase) => {
        this.#isDirect = await setLimits(client, statementMs);
      }),
    });
    // An idle connection that breaks is replaced with the next statement.
    pool.on("error", () => {});
    return pool;
  }

  /** Opens a connection outside the pools; `url` replaces the address. Its owner ends it. */
  async connect(statementMs: number, url?: string): Promise<Client> {
    const client = this.#read(url, { stream: this.#open, query_timeout: statementMs });
    try {
      await client.connect();
      await setLimits(client, statementMs);
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  }

  /**
   * Closes the connections on which nothing arrives any more, after the database was silent: a network can have lost what
   * they wait for, and an idle one can be broken without a sign.
   */
  refresh(): void {
    const read = new Map(Array.from(this.#sockets, (socket) => [socket, socket.bytesRead]));
    setTimeout(() => {
      for (const [socket, bytes] of read) if (socket.bytesRead === bytes) socket.destroy();
    }, REFRESH_MS).unref();
  }

  /** Whether the pools lead to the server itself and not to a pooler, so that the server keeps what is prepared on a connection. */
  get isDirect(): boolean {
    return this.#isDirect;
  }

  /** Resolves when all connections are closed. Cuts those that their owners have not closed after a time. */
  async closed(): Promise<void> {
    if (this.#sockets.size === 0) return;
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, CLOSE_MS);
    await new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    clearTimeout(cut);
  }

  readonly #open = (): Socket => {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#onClosed?.();
    });
    return socket;
  };

  /** Makes a client; fails if an address cannot be used. The error does not repeat the address. */
  #read(url?: string, more: ClientConfig = {}): Client {
    const other = url !== undefined && { connectionString: withUser(url, this.#user) };
    try {
      return new this.#client({ ...this.#config, ...other, ...more });
    } catch (cause) {
      const why = messageOf(cause);
      const hint =
        why === "Invalid URL"
          ? "write postgres://USER@HOST:PORT/DATABASE and set PGPASSWORD, or write special characters of a password as %XX"
          : "correct it; sslrootcert, sslcert and sslkey name files of this machine";
      throw new AgentError("invalid_request", `the address of the database cannot be used: ${why}`, {
        hint,
        cause,
      });
    }
  }
}

/**
 * The clients of this log. A connection that breaks fails its statement; an error event that nothing listens to would end
 * the process, and a pool does not listen while it verifies a new connection. The library takes the empty password of a
 * URL, also when another one is given beside it.
 */
function toClient(pg: Pg, password: PostgresConnection["password"]): typeof Client {
  return class extends pg.Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      this.on("error", () => {});
      if (password !== undefined) Object.assign(this, { password });
    }
  };
}

/**
 * Lets the server end statements that the client has given up, and connections of a node that has vanished, so that their
 * locks do not last. The server neither compiles statements (`jit`) nor starts workers for them: for the sums of a log that takes longer than to
 * run them. The settings would stay in a connection that a pooler shares with others, so they are set only if the process of the server is
 * the one that the connection was announced with: a pooler announces a number of its own. Resolves with whether it is.
 */
async function setLimits(client: ClientBase, statementMs: number): Promise<boolean> {
  const { processID = null } = client as { readonly processID?: number | null };
  const { rows } = await client.query(LIMITS, [processID, statementMs - GIVE_UP_MS]);
  return rows.length > 0;
}

const KEEP_ALIVE_S = 10;

const LIMITS = `SELECT set_config('statement_timeout', $2::text, false),
  set_config('tcp_keepalives_idle', '${KEEP_ALIVE_S}', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('jit', 'off', false),
  set_config('max_parallel_workers_per_gather', '0', false)
  WHERE pg_backend_pid() = $1`;

/** The server ends a statement this much before the client gives it up, so that the client knows its outcome. */
const GIVE_UP_MS = 500;

const CONNECT_MS = 5_000;

/**
 * How long connections stay that only many questions at once have needed: each of them costs the server a process. Under a load that
 * goes on, several are needed again within this time; a new one has to plan everything anew.
 */
const IDLE_MS = 10_000;
const CLOSE_MS = 5_000;

/** How long a connection has for what it has missed. */
const REFRESH_MS = 250;

/** All numbers are below 2^53. */
function toTypes({ types, TypeOverrides }: Pg): InstanceType<Pg["TypeOverrides"]> {
  const own = new TypeOverrides();
  own.setTypeParser(types.builtins.INT8, Number);
  return own;
}

/** The client library of PostgreSQL. */
export type Pg = Omit<typeof pg, "default">;

/** Loads the optional package; says what to install if it is missing. */
export async function loadPg(): Promise<Pg> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw new AgentError("unavailable", "a log on PostgreSQL needs the package pg, which is missing", {
      hint: "npm install pg@8",
      cause,
    });
  }
}

/** The user of an address without one, as psql finds it. The library asks only USER, which services often do not have. */
function toUser(given?: string): { readonly user?: string } {
  const { PGUSER, USER } = process.env;
  const user = [given, PGUSER, USER].find((name) => name !== undefined && name !== "") ?? osUser();
  return user === undefined ? {} : { user };
}

/** The address with its user, because the library prefers an address without a user to the option. */
function withUser(url: string, given?: string): string {
  const { user } = toUser(given);
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
