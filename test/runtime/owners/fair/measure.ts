import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Connection, toRequestText } from "../../../bench/harness/connection.ts";

/** The first event of a request: after how long it came, and how long the main thread of the server worked meanwhile. */
export interface FirstEvent {
  readonly ms: number;
  readonly cpuMs: number;
}

export interface Fairness {
  readonly idle: readonly FirstEvent[];
  /** While another owner sends very many requests. */
  readonly busy: readonly FirstEvent[];
}

/** How many connections the owner has that sends very many requests. */
const CONNECTIONS = 64;
/** How many requests the server has had before. */
const WARM_UP = 1_000;
const IDLE = 30;
/** The pause between two requests of the measured owner. */
const PAUSE_MS = 5;

const request = { type: "ChatRequest", input: "hello" };
const TEXT = toRequestText("POST", "/echo/stream_request", request, { "x-user": "bob" });

/** Measures the first event of an owner on a server of its own, before and while another owner sends so many requests. Needs Linux. */
export async function measureFairness(place: string, requests: number): Promise<Fairness> {
  await using server = new Program("server.ts", [place]);
  const port = await server.line();
  const connection = new Connection(Number(port));
  const firstEvent = async (): Promise<FirstEvent> => {
    const before = server.cpuMs();
    let after: number | undefined;
    const { firstMs: ms } = await connection.request(TEXT, { hear: () => (after ??= server.cpuMs()) });
    return { ms, cpuMs: (after ?? before) - before };
  };
  const flood = (count: number): Program => new Program("flood.ts", [port, `${count}`, `${CONNECTIONS}`]);

  await using warmUp = flood(WARM_UP);
  await warmUp.line();
  while (!warmUp.isDone) await firstEvent();
  const idle: FirstEvent[] = [];
  while (idle.length < IDLE) {
    idle.push(await firstEvent());
    await setTimeout(PAUSE_MS);
  }
  await using flooding = flood(requests);
  await flooding.line();
  const busy: FirstEvent[] = [];
  while (!flooding.isDone) {
    busy.push(await firstEvent());
    await setTimeout(PAUSE_MS);
  }
  connection.close();
  return { idle, busy };
}

/** A program of this folder as a process of its own. */
class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #lines: string[] = [];
  readonly #first = Promise.withResolvers<string>();

  constructor(file: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", path, ...args], {
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.#exit = once(child, "exit").then(() => {
      this.#first.reject(new Error(`${file} has ended`));
    });
    this.#first.promise.catch(() => {});
    createInterface(child.stdout).on("line", (line) => {
      this.#lines.push(line);
      this.#first.resolve(line);
    });
  }

  /** Its first line. */
  line(): Promise<string> {
    return this.#first.promise;
  }

  /** Whether it has ended, or has said everything. */
  get isDone(): boolean {
    return this.#lines.length > 1 || this.#child.exitCode !== null;
  }

  /** What the main thread has worked. */
  cpuMs(): number {
    const { pid } = this.#child;
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exit;
  }
}
