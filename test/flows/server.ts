import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { agents } from "./agents.ts";

/** A server in this process. */
export interface Server {
  readonly url: string;
  /** The address of its AIP gateway, if it has one. */
  readonly aip?: string;
  close(): Promise<void>;
}

/** Serves all agents from this process, on a free port with a memory log. */
export function startServer(): Promise<Server> {
  return start(createRuntime({ agents }));
}

/** The same with a durable log, which is removed after the test. */
async function startDurableServer(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-flows-"));
  const server = await start(createRuntime({ agents, log: sqliteLog(directory) }));
  return {
    url: server.url,
    async close() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function start(runtime: Runtime): Promise<Server> {
  // With all wires on: none of them may change the native protocol.
  const server = await serve(runtime, { port: 0, adapters: await openWires(WIRES) });
  return {
    url: server.url,
    async close() {
      await server.close();
      await runtime.close();
    },
  };
}

/** Both servers, for tests that must pass on either. */
export const servers: readonly (readonly [log: string, start: () => Promise<Server>])[] = [
  ["a log in memory", startServer],
  ["a durable log", startDurableServer],
];

/** A server in its own process with its own data directory, which can be killed and restarted. */
export class ServerProcess implements AsyncDisposable {
  readonly directory: string;
  readonly #program: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(directory: string, program: string, args: readonly string[]) {
    this.directory = directory;
    this.#program = program;
    this.#args = args;
  }

  /** Creates a directory for a program that gets it as its first argument and prints its address when it serves. */
  static async create(program: string = SERVER, ...args: readonly string[]): Promise<ServerProcess> {
    return new ServerProcess(await mkdtemp(join(tmpdir(), "troupe-flows-")), program, args);
  }

  /** Starts the server on the directory and returns its address once it answers. */
  async start(): Promise<string> {
    const child = spawn(
      process.execPath,
      [
        "--conditions=troupe-source",
        "--disable-warning=ExperimentalWarning",
        this.#program,
        this.directory,
        ...this.#args,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    this.#child = child;
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith("http://")) return line;
    }
    throw new Error(`the server ended before it was ready (${String(child.exitCode)})`);
  }

  /** Kills the server. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  /** Kills the server and restarts it. */
  async restart(): Promise<string> {
    await this.kill();
    return this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }
}

const SERVER = fileURLToPath(new URL("durable-server.ts", import.meta.url));
