import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Connection, toRequestText } from "../../../bench/harness/connection.ts";

/** The beginning of a request. */
export interface Beginning {
  /** After how long its first event came, and how long the main thread of the server worked meanwhile. */
  readonly ms: number;
  readonly cpuMs: number;
  /** How many requests of the other owner were read, and turns of it begun, until the turn of this one began. */
  readonly steps: number;
}

export interface Fairness {
  readonly idle: readonly Beginning[];
  /** While another owner sends very many requests. */
  readonly busy: readonly Beginning[];
}

/** How many connections the owner has that sends very many requests. */
const CONNECTIONS = 64;
/** How many requests the server has had before. */
const WARM_UP = 1_000;
const IDLE = 30;
/** The pause between two requests of the measured owner. */
const PAUSE_MS = 5;

const request = { type: "ChatRequest", input: "count" };
const TEXT = toRequestText("POST", "/echo/stream_request", request, { "x-user": "bob" });

/** Measures the first event of an owner on a server of its own, before and while another owner sends so many requests. Needs Linux. */
export async function measureFairness(place: string, requests: number): Promise<Fairness> {
  await using server = new Program("server.ts", [place]);
  const port = await server.line();
  const connection = new Connection(Number(port));
  const begin = async (): Promise<Beginning> => {
    const before = server.cpuMs();
    let after: number | undefined;
    const { firstMs: ms, text } = await connection.request(TEXT, {
      keep: true,
      hear: () => (after ??= server.cpuMs()),
    });
    const steps = Number(/steps:(\d+)/.exec(text)?.[1]);
    return { ms, cpuMs: (after ?? before) - before, steps };
  };
  const flood = (count: number): Program => new Program("flood.ts", [port, `${count}`, `${CONNECTIONS}`]);

  await using warmUp = flood(WARM_UP);
  await warmUp.line();
  while (!warmUp.isDone) await begin();
  const idle: Beginning[] = [];
  while (idle.length < IDLE) {
    idle.push(await begin());
    await setTimeout(PAUSE_MS);
  }
  await using flooding = flood(requests);
  await flooding.line();
  const busy: Beginning[] = [];
  while (!flooding.isDone) {
    busy.push(await begin());
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
