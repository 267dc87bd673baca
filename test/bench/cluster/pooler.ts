import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findUser } from "../../machine/postgres-server.ts";
import type { PostgresServer } from "../../machine/postgres-server.ts";

const PORT = 6432;
const START_MS = 10_000;

/** The program of PgBouncer; `undefined` if this machine has none. */
export function findPooler(): string | undefined {
  return ["pgbouncer", "/usr/sbin/pgbouncer"].find(
    (program) => spawnSync(program, ["--version"]).status === 0,
  );
}

/** A pooler in front of a database. */
export interface Pooler extends AsyncDisposable {
  readonly url: string;
}

/** Starts a pooler in transaction mode, with its socket beside that of the database. */
export async function startPooler(program: string, { directory }: PostgresServer): Promise<Pooler> {
  const config = join(directory, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `postgres = host=${directory} dbname=postgres user=troupe`,
    "[pgbouncer]",
    `unix_socket_dir = ${directory}`,
    `listen_port = ${PORT}`,
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 20",
    "query_timeout = 15",
    "server_login_retry = 1",
    "max_client_conn = 1000",
    "ignore_startup_parameters = extra_float_digits",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const child = spawn(program, ["-q", config], { ...findUser(), cwd: directory, stdio: "ignore" });
  const socket = join(directory, `.s.PGSQL.${PORT}`);
  for (let ms = 0; !existsSync(socket); ms += 50) {
    if (ms > START_MS || child.exitCode !== null) throw new Error("PgBouncer did not start");
    await setTimeout(50);
  }
  return {
    url: `postgres://troupe@${encodeURIComponent(directory)}:${PORT}/postgres`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}
