import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms, PostgresServer } from "../../../machine/postgres-server.ts";
import { startPooler } from "../../../bench/cluster/pooler.ts";
import type { Pooler } from "../../../bench/cluster/pooler.ts";
import { startProxy } from "../../../storage/postgres/proxy.ts";
import type { Proxy } from "../../../storage/postgres/proxy.ts";
import { ask, askUntil } from "../../../storage/postgres/databases.ts";

/** A way of a node to the server. */
export interface Way extends Omit<Proxy, "hear" | "pool"> {
  /** The address for the connection that listens, if `url` leads through a pooler. */
  readonly listenUrl?: string;
}

/**
 * A PostgreSQL server with proxies in front of it, which keep their addresses when a standby takes its place; with a pooler between
 * them and the server, if there is its program.
 */
export class Engine implements AsyncDisposable {
  #primary: PostgresServer;
  readonly #program: string | undefined;
  #pooler: Pooler | undefined;
  readonly #pooled: Proxy[] = [];
  #standby: PostgresServer | undefined;
  readonly #proxies: Proxy[] = [];

  private constructor(primary: PostgresServer, program: string | undefined) {
    this.#primary = primary;
    this.#program = program;
  }

  /** Starts a server, and PgBouncer by its program. */
  static async start(program?: string): Promise<Engine> {
    const primary = newServer();
    await primary.create();
    await primary.start();
    const engine = new Engine(primary, program);
    await engine.#startPooler();
    return engine;
  }

  /** The address of the server itself. */
  get url(): string {
    return this.#primary.url;
  }

  /** Creates an address of the server that can be cut. */
  async openProxy(): Promise<Way> {
    const proxy = await startProxy(this.url);
    this.#proxies.push(proxy);
    if (this.#pooler === undefined) return proxy;
    const pooled = await startProxy(this.#pooler.url);
    this.#pooled.push(pooled);
    return bothWays(pooled, proxy);
  }

  /** Ends the server as a crash does. */
  kill(): Promise<void> {
    return this.#primary.kill();
  }

  async restart(): Promise<void> {
    await this.#primary.start();
  }

  /** Starts a standby; resolves when it follows the server. */
  async addStandby({ isSynchronous }: { readonly isSynchronous: boolean }): Promise<void> {
    const standby = newServer();
    this.#standby = standby;
    await standby.createStandby(this.#primary);
    await standby.start();
    if (isSynchronous) await this.#set(this.url, "synchronous_standby_names = '*'");
    const state = isSynchronous ? "sync" : "async";
    await askUntil(
      this.url,
      `SELECT sync_state = '${state}' FROM pg_stat_replication WHERE state = 'streaming'`,
    );
  }

  /** Waits until the standby has everything that the server has now. */
  async standbyHasAll(): Promise<void> {
    const [now] = await ask(this.url, "SELECT pg_current_wal_insert_lsn() AS lsn");
    const lsn = String(now?.["lsn"]);
    await askUntil(this.url, `SELECT bool_or(replay_lsn >= '${lsn}') FROM pg_stat_replication`);
  }

  /** Cuts the standby off from the server. */
  async cutStandby(): Promise<void> {
    await this.#set(this.#standby?.url ?? "", "primary_conninfo = ''");
    await askUntil(this.url, "SELECT count(*) = 0 FROM pg_stat_replication");
  }

  /** Kills the server; its standby takes its place. */
  async failOver(): Promise<void> {
    const standby = this.#standby;
    if (standby === undefined) throw new Error("there is no standby");
    await this.kill();
    await standby.promote();
    await this.#pooler?.[Symbol.asyncDispose]();
    const primary = this.#primary;
    this.#primary = standby;
    this.#standby = undefined;
    await this.#startPooler();
    for (const proxy of this.#proxies) proxy.pointTo(standby.url);
    for (const proxy of this.#pooled) proxy.pointTo(this.#pooler?.url ?? "");
    await primary.remove();
  }

  async #startPooler(): Promise<void> {
    if (this.#program !== undefined) this.#pooler = await startPooler(this.#program, this.#primary);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of [...this.#proxies, ...this.#pooled]) proxy.close();
    await this.#pooler?.[Symbol.asyncDispose]();
    await this.#standby?.remove();
    await this.#primary.remove();
  }

  async #set(url: string, setting: string): Promise<void> {
    await ask(url, `ALTER SYSTEM SET ${setting}`);
    await ask(url, "SELECT pg_reload_conf()");
  }
}

/** A way through a pooler, with the one beside it for listening: what happens to one happens to both. */
function bothWays(pooled: Proxy, direct: Proxy): Way {
  const both = [pooled, direct];
  return {
    url: pooled.url,
    listenUrl: direct.url,
    loseNotifications: () => direct.loseNotifications(),
    loseAnswersTo: (text) => pooled.loseAnswersTo(text),
    get lost() {
      return pooled.lost;
    },
    cut: () => both.forEach((proxy) => proxy.cut()),
    silence: () => both.forEach((proxy) => proxy.silence()),
    silenceAt: (text) => pooled.silenceAt(text),
    mend: () => both.forEach((proxy) => proxy.mend()),
    mendForNew: () => both.forEach((proxy) => proxy.mendForNew()),
    pointTo: (server) => pooled.pointTo(server),
    close: () => both.forEach((proxy) => proxy.close()),
  };
}

function newServer(): PostgresServer {
  const programs = findPrograms();
  if (programs === undefined) throw new Error("the scenes need the programs of PostgreSQL on this machine");
  return new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
}
