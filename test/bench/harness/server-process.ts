import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { findFreePort } from "../../machine/free-port.ts";
import { TREE } from "../compare/checkout.ts";

/** The servers that can be measured. */
export type ServerName =
  | "memory"
  | "durable"
  | "postgres"
  | "bare-hono"
  | "bare-node"
  | "raw-socket"
  | "editors"
  | "ai-sdk"
  | "mastra";

const FOLDERS: Readonly<Record<ServerName, string>> = {
  memory: "memory",
  durable: "durable",
  postgres: "cluster",
  "bare-hono": "servers/bare-hono",
  "bare-node": "servers/bare-node",
  "raw-socket": "servers/raw-socket",
  editors: "servers/editors",
  "ai-sdk": "peers/ai-sdk",
  mastra: "peers/mastra",
};

/** The server to start. */
export interface ServerOptions {
  /** Texts in a turn. Default 100. */
  readonly deltas?: number;
  /** How long texts gather before they are written together, in milliseconds; for the servers without a log. Default 0. */
  readonly gatherMs?: number;
  /** How long texts of the runtime gather at most, in milliseconds. Default: that of the runtime. */
  readonly windowMs?: number;
  /** The time between two texts of a turn. Default: one turn of the event loop. */
  readonly paceMs?: number;
  /** The checkout to run. Default: this one. */
  readonly tree?: string;
  /** The log directory of a durable server, by default a temporary one, or the URL of the database. */
  readonly data?: string;
  /** Whether to measure the delay of the event loop. */
  readonly watchLoop?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The resources that a process has used since its start. */
export interface Usage {
  readonly cpuMs: number;
  /** System calls that write: to sockets and to files. */
  readonly writes: number;
  /** Bytes of files that are to be written to the disk. */
  readonly diskBytes: number;
}

/** The report of a server after a garbage collection. */
export interface Report {
  readonly heapUsed: number;
  readonly rss: number;
  /** The part of `rss` that is the heap's young generation. */
  readonly young: number;
  /** The 99th percentile of the event loop delay since the previous report. */
  readonly loopDelayP99Ms?: number;
}

/** Whether processes can be pinned to a core. */
export const canPin: boolean = spawnSync("taskset", ["-c", "1", "true"]).status === 0;

/** Pins this process, the client, to another core than the servers. */
export function pinClient(): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", "1", String(process.pid)]);
}

/** Gives this process all cores again, for what it starts. */
export function unpinClient(): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", `0-${cpus().length - 1}`, String(process.pid)]);
}

/** The command that runs a program on all cores, although this process is pinned. */
export const onAllCores: readonly string[] = canPin ? ["taskset", "-c", `0-${cpus().length - 1}`] : [];

/** A server in its own process, on the first core. */
export class ServerProcess implements AsyncDisposable {
  readonly name: ServerName;
  readonly port: number;
  readonly deltas: number;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string, undefined>;

  private constructor(name: ServerName, port: number, deltas: number, child: ChildProcess, lines: Lines) {
    this.name = name;
    this.port = port;
    this.deltas = deltas;
    this.#child = child;
    this.#lines = lines;
  }

  /** Starts a server and waits until it listens. */
  static async start(
    name: ServerName,
    {
      deltas = 100,
      gatherMs = 0,
      paceMs = 0,
      tree = TREE,
      data,
      windowMs,
      watchLoop = false,
      environment = {},
    }: ServerOptions = {},
  ): Promise<ServerProcess> {
    const port = await findFreePort();
    const file = join(tree, "test/bench", FOLDERS[name], "server.ts");
    const command = [process.execPath, "--expose-gc", "--disable-warning=ExperimentalWarning", file];
    const [program = "", ...args] = canPin ? ["taskset", "-c", "0", ...command] : command;
    const child = spawn(program, args, {
      env: {
        ...process.env,
        NODE_ENV: "production",
        PORT: String(port),
        DELTAS: String(deltas),
        GATHER_MS: String(gatherMs),
        PACE_MS: String(paceMs),
        ...(windowMs !== undefined && { WINDOW_MS: String(windowMs) }),
        ...(data !== undefined && { DATA: data }),
        ...(watchLoop && { WATCH_LOOP: "1" }),
        ...environment,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]() as Lines;
    const first = await lines.next();
    if (first.value !== "READY") throw new Error(`the server ${name} did not start`);
    return new ServerProcess(name, port, deltas, child, lines);
  }

  usage(): Usage {
    // taskset replaces itself by the program, so the started process is the server itself.
    const path = `/proc/${this.#child.pid}`;
    const io = readFileSync(`${path}/io`, "utf8");
    const countOf = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, "mu").exec(io)?.[1]);
    // The CPU time of threads has nanosecond resolution, that of a process only clock ticks.
    const times = readdirSync(`${path}/task`).map((thread) =>
      Number(readFileSync(`${path}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]),
    );
    return {
      cpuMs: times.reduce((sum, time) => sum + time, 0) / 1e6,
      writes: countOf("syscw"),
      diskBytes: countOf("write_bytes"),
    };
  }

  async report(): Promise<Report> {
    this.#child.kill("SIGUSR2");
    const { value = "" } = await this.#lines.next();
    return JSON.parse(value.slice("MEM ".length)) as Report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await gone;
  }
}

type Lines = AsyncIterator<string, undefined>;
