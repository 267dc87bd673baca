import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms, PostgresServer } from "../../../machine/postgres-server.ts";
import { startProxy } from "../../../storage/postgres/proxy.ts";
import type { Proxy } from "../../../storage/postgres/proxy.ts";
import { ask, askUntil } from "../../../storage/postgres/databases.ts";

/** A PostgreSQL server with proxies in front of it, which keep their addresses when a standby takes its place. */
export class Engine implements AsyncDisposable {
  #primary: PostgresServer;
  #standby: PostgresServer | undefined;
  readonly #proxies: Proxy[] = [];

  private constructor(primary: PostgresServer) {
    this.#primary = primary;
  }

  static async start(): Promise<Engine> {
    const primary = newServer();
    await primary.create();
    await primary.start();
    return new Engine(primary);
  }

  /** The address of the server itself. */
  get url(): string {
    return this.#primary.url;
  }

  /** Creates an address of the server that can be cut. */
  async openProxy(): Promise<Proxy> {
    const proxy = await startProxy(this.url);
    this.#proxies.push(proxy);
    return proxy;
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
    for (const proxy of this.#proxies) proxy.pointTo(standby.url);
    await this.#primary.remove();
    this.#primary = standby;
    this.#standby = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of this.#proxies) proxy.close();
    await this.#standby?.remove();
    await this.#primary.remove();
  }

  async #set(url: string, setting: string): Promise<void> {
    await ask(url, `ALTER SYSTEM SET ${setting}`);
    await ask(url, "SELECT pg_reload_conf()");
  }
}

function newServer(): PostgresServer {
  const programs = findPrograms();
  if (programs === undefined) throw new Error("the scenes need the programs of PostgreSQL on this machine");
  return new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
}
