import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The servers that can be measured. */
export type ServerName = "memory" | "durable" | "bare-hono" | "bare-node";

/** What to start. */
export interface ServerOptions {
  /** Texts in a turn. Default 100. */
  readonly deltas?: number;
  /** Milliseconds that texts may gather. Default 0. */
  readonly coalesce?: number;
  /** Where a durable server keeps its log. Default a directory of its own, removed in the end. */
  readonly data?: string;
  /** Whether to watch how late the event loop is. */
  readonly watchLoop?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** What a process has used since its start. */
export interface Usage {
  readonly cpuMs: number;
  /** Calls to the system that write: to sockets and to files. */
  readonly writes: number;
}

/** What a server says of itself after it has collected its garbage. */
export interface Report {
  readonly heapUsed: number;
  readonly rss: number;
  /** How late the event loop was since the report before, 99 of 100 times at most. */
  readonly loopDelayP99Ms?: number;
}

/** Whether processes can be kept on a core of their own. */
export const canPin: boolean = spawnSync("taskset", ["-c", "1", "true"]).status === 0;

/** Keeps this process, which is the client, off the servers' core. */
export function pinClient(): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", "1", String(process.pid)]);
}

/** A server in a process of its own, on the first core. */
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
    { deltas = 100, coalesce = 0, data, watchLoop = false, environment = {} }: ServerOptions = {},
  ): Promise<ServerProcess> {
    const port = await findPort();
    const file = join(import.meta.dirname, name, "server.ts");
    const command = [process.execPath, "--expose-gc", "--disable-warning=ExperimentalWarning", file];
    const [program = "", ...args] = canPin ? ["taskset", "-c", "0", ...command] : command;
    const child = spawn(program, args, {
      env: {
        ...process.env,
        NODE_ENV: "production",
        PORT: String(port),
        DELTAS: String(deltas),
        COALESCE: String(coalesce),
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
    // taskset becomes the program that it starts, so the process that was started is the server itself.
    const path = `/proc/${this.#child.pid}`;
    const writes = /syscw: (\d+)/.exec(readFileSync(`${path}/io`, "utf8"))?.[1];
    // Each thread's time is told to the nanosecond, the one of the whole process only to the clock tick.
    const times = readdirSync(`${path}/task`).map((thread) =>
      Number(readFileSync(`${path}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]),
    );
    return { cpuMs: times.reduce((sum, time) => sum + time, 0) / 1e6, writes: Number(writes) };
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

/** A port that nobody listens on at present. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
