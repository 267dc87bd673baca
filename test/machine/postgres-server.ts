import { execFile, execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, chownSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { promisify } from "node:util";

/** The folder with the programs of PostgreSQL; `undefined` if this machine has none. */
export function findPrograms(): string | undefined {
  const installed = "/usr/lib/postgresql";
  const versions = existsSync(installed)
    ? readdirSync(installed)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(":"),
    ...versions.map((version) => join(installed, String(version), "bin")),
  ];
  return folders.find((folder) => PROGRAMS.every((program) => canRun(join(folder, program))));
}

const PROGRAMS = ["postgres", "initdb", "pg_ctl", "pg_basebackup"];

/** How a server runs. */
export interface ServerSetting {
  /** The process whose end ends the server. Default: this one. */
  readonly owner?: number;
  /** Whether commits are synced to the disk, as outside of tests. Default false. */
  readonly isSynced?: boolean;
  /** Further settings: `archive_mode=on`. */
  readonly settings?: readonly string[];
}

/** A PostgreSQL server of the tests, with a directory of its own and a socket in it. */
export class PostgresServer {
  readonly directory: string;
  readonly #programs: string;
  readonly #owner: number;
  readonly #isSynced: boolean;
  #settings: readonly string[];
  #process: ChildProcess | undefined;

  constructor(
    programs: string,
    directory: string,
    { owner = process.pid, isSynced = false, settings = [] }: ServerSetting = {},
  ) {
    this.#programs = programs;
    this.directory = directory;
    this.#owner = owner;
    this.#isSynced = isSynced;
    this.#settings = settings;
  }

  get url(): string {
    return `postgres://troupe@${encodeURIComponent(this.directory)}/postgres`;
  }

  /** Creates the database in the empty directory. */
  async create(): Promise<void> {
    const user = findUser();
    if (user.uid !== undefined && user.gid !== undefined) chownSync(this.directory, user.uid, user.gid);
    const args = ["-D", this.#data, "-A", "trust", "-U", "troupe", "-E", "UTF8", "--locale=C", "--no-sync"];
    await promisify(execFile)(join(this.#programs, "initdb"), args, { ...user, cwd: this.directory });
  }

  /** Creates the database as a copy of a running server, which this one follows as its standby. */
  async createStandby(primary: PostgresServer): Promise<void> {
    await this.createCopy(primary, ["-R"]);
  }

  /** Creates the database as a base backup of a running server. With a signal file it recovers from an archive when it starts. */
  async createCopy(primary: PostgresServer, options: readonly string[] = []): Promise<void> {
    const user = findUser();
    if (user.uid !== undefined && user.gid !== undefined) chownSync(this.directory, user.uid, user.gid);
    const from = ["-h", primary.directory, "-U", "troupe"];
    const args = [...from, "-D", this.#data, ...options, "-X", "stream", "-c", "fast", "--no-sync"];
    const run = promisify(execFile);
    await run(join(this.#programs, "pg_basebackup"), args, { ...user, cwd: this.directory });
  }

  /** Has the next start read the write-ahead log of an archive, as these settings say. */
  recover(settings: readonly string[]): void {
    this.#settings = [...this.#settings, ...settings];
    const path = join(this.#data, "recovery.signal");
    writeFileSync(path, "");
    const { uid, gid } = findUser();
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  }

  /** Makes a standby the primary server. */
  async promote(): Promise<void> {
    const args = ["promote", "-D", this.#data];
    await promisify(execFile)(join(this.#programs, "pg_ctl"), args, { ...findUser(), cwd: this.directory });
  }

  /** Starts the server and resolves when it accepts connections. */
  async start(): Promise<void> {
    const settings = [
      `fsync=${this.#isSynced ? "on" : "off"}`,
      "listen_addresses=",
      `unix_socket_directories=${this.directory}`,
      "max_connections=300",
      ...this.#settings,
    ];
    const args = ["-D", this.#data, ...settings.flatMap((setting) => ["-c", setting])];
    // A shell in between ends the server when the tests are gone, also when they were killed.
    const server = spawn(
      "sh",
      ["-c", WATCHED, "sh", String(this.#owner), join(this.#programs, "postgres"), ...args],
      {
        ...findUser(),
        cwd: this.directory,
        stdio: ["ignore", "ignore", "pipe"],
        // Ctrl-C in a terminal ends the tests, which stop the server.
        detached: true,
      },
    );
    this.#process = server;
    let log = "";
    const ready = new Promise<void>((resolve, reject) => {
      server.stderr.setEncoding("utf8").on("data", (text: string) => {
        log = (log + text).slice(-10_000);
        if (/ready to accept (read.only )?connections/.test(text)) resolve();
      });
      server.once("exit", () => reject(new Error(`PostgreSQL has ended: ${log}`)));
      server.once("error", reject);
    });
    await ready;
    server.unref();
    (server.stderr as { unref?: () => void }).unref?.();
  }

  /** Ends the server as a crash does. */
  async kill(): Promise<void> {
    await this.#end("SIGQUIT");
  }

  /** Stops the server and removes its directory. */
  async remove(): Promise<void> {
    await this.#end("SIGQUIT");
    await rm(this.directory, { recursive: true, force: true });
  }

  /** The process that accepts connections, also if another process has started it. */
  get pid(): number | undefined {
    const file = join(this.#data, "postmaster.pid");
    return existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : undefined;
  }

  get #data(): string {
    return join(this.directory, "data");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const { pid } = this;
    if (pid === undefined) return;
    const ended = this.#process?.exitCode === null ? once(this.#process, "exit") : undefined;
    this.#process?.ref();
    process.kill(pid, signal);
    await ended;
  }
}

/** Runs a program until it ends or a process is gone. */
const WATCHED = `owner=$1; shift; "$@" & server=$!
while { [ -d /proc/$owner ] || ps -p $owner >/dev/null; } && kill -0 $server 2>/dev/null; do sleep 1; done
kill -QUIT $server 2>/dev/null`;

/** The user of the server: PostgreSQL refuses to run as root. */
export function findUser(): ServerUser {
  return (found ??= lookForUser());
}

interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

let found: ServerUser | undefined;

function lookForUser(): ServerUser {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (option: string): number => Number(execFileSync("id", [option, name], { stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // There is no such user.
    }
  }
  return {};
}

function canRun(path: string): boolean {
  try {
    accessSync(path, 1);
    return true;
  } catch {
    return false;
  }
}
