import type { ConnectionOptions } from "node:tls";

/** Where the database is. What is absent comes from the variables of PostgreSQL: PGHOST, PGPORT, PGPASSWORD … */
export interface PostgresConnection {
  /** For example `postgres://user@host:5432/database?sslmode=verify-full`. */
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  readonly password?: string | (() => string | Promise<string>);
  readonly ssl?: boolean | ConnectionOptions;
  /** The schema of the tables. Default `troupe`. */
  readonly schema?: string;
  /**
   * The most connections for queries, and as many for files that are being stored, besides two that append and one that
   * listens. Default 8.
   */
  readonly max?: number;
}

/** What `postgresLog` takes. */
export interface PostgresLogOptions extends PostgresConnection {
  /**
   * The address for the connection that listens for changes, if `url` is that of a pooler: a connection that a pooler
   * shares hears nothing.
   */
  readonly listenUrl?: string;
  /**
   * The key of secret values, the same on all nodes: any text of 32 characters or more. Without it none is stored. Of several, the
   * first encrypts and all decrypt, and what is stored under another one is encrypted again while the log is open.
   */
  readonly secretsKey?: string | readonly string[];
  /** The id of this node, which is new at each start. Default: a random id. */
  readonly node?: string;
  /**
   * Which other nodes may have the log open: with `one` none, with `several` those that say the same. With `any` the log is
   * opened in any case; claims keep it whole then too. Default `several`.
   */
  readonly nodes?: "one" | "several" | "any";
  /**
   * Creates the tables, or brings them to the current version, and what is under an older key to the first one. Default true;
   * without it, opening the log changes nothing.
   */
  readonly migrate?: boolean;
  /** How long a lost connection is restored before a statement fails with `Unavailable`. Default 15,000. */
  readonly settleMs?: number;
  /** The memory for the newest events of all runs, for live readers. Default 16 MiB. */
  readonly cacheBytes?: number;
}
