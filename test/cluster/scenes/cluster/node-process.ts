import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Point } from "../../../faults/server/points.ts";
import type { Way } from "./engine.ts";
import type { NodeOptions } from "./node.ts";

/** A node in its own process. */
export class NodeProcess {
  /** Where clients reach it. */
  readonly url: string;
  /** Its id in the log. */
  readonly id: string;
  /** Its way to the database. */
  readonly database: Way;
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, database: Way, { url, node }: Started) {
    this.#child = child;
    this.database = database;
    this.url = url;
    this.id = node;
    this.exited =
      child.exitCode === null && child.signalCode === null ? once(child, "exit") : Promise.resolve();
  }

  /** Starts a node; resolves when it takes runs. */
  static async start(options: Omit<NodeOptions, "url" | "listenUrl">, database: Way): Promise<NodeProcess> {
    const args = [
      "--conditions=troupe-source",
      PROGRAM,
      JSON.stringify({ ...options, url: database.url, listenUrl: database.listenUrl }),
    ];
    const child = spawn(process.execPath, args, {
      // The compile cache is kept, so that the next node starts faster.
      env: { NODE_COMPILE_CACHE: join(tmpdir(), "troupe-scenes-cache"), ...process.env },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const started = once(createInterface(child.stdout as NonNullable<typeof child.stdout>), "line");
    const [line] = (await Promise.race([started, once(child, "exit")])) as [unknown];
    if (typeof line !== "string") throw new Error(`a node ended with ${String(line)} while it started`);
    return new NodeProcess(child, database, JSON.parse(line) as Started);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether it has ended by an error of its own. */
  get hasCrashed(): boolean {
    return (this.#child.exitCode ?? 0) !== 0;
  }

  /** Sends a signal. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Kills it, and resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
    this.database.close();
  }

  /** Makes it kill itself when it reaches a point for the n-th time. */
  dieAt(point: Point, times: number): void {
    this.#child.send({ point, times });
  }

  /** Sends SIGTERM, and resolves with its exit code, or with the signal that killed it. */
  async terminate(): Promise<number | NodeJS.Signals | null> {
    this.#child.kill("SIGTERM");
    await this.exited;
    this.database.close();
    return this.#child.exitCode ?? this.#child.signalCode;
  }
}

interface Started {
  readonly url: string;
  readonly node: string;
}

const PROGRAM = join(import.meta.dirname, "node.ts");
