import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Point } from "./points.ts";

/** How a server is started. */
export interface StartOptions {
  /** Where it dies by itself, and when it comes there for which time. */
  readonly point?: Point;
  readonly times?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What it is started by, as in `nsenter …`. */
  readonly command?: readonly string[];
}

/** Where a server keeps its log and its files, and notes its deeds. */
export interface Places {
  readonly log: string;
  readonly files: string;
  readonly deeds: string;
}

/** How a process ended: its exit code, or the signal that took it. */
export type Exit = number | NodeJS.Signals;

/** A server in a process of its own. */
export class ServerProcess {
  readonly #child: ChildProcess;
  /** Resolves when it is about to open its directory. */
  readonly opening: Promise<void>;
  /** Resolves with its address once it listens; `undefined` when it ends before. */
  readonly address: Promise<string | undefined>;
  readonly exited: Promise<Exit>;
  /** What it printed beside its address. */
  readonly said: string[] = [];

  constructor({ log, files, deeds }: Places, { point, times = 1, env, command = [] }: StartOptions = {}) {
    const node = [process.execPath, "--disable-warning=ExperimentalWarning", SERVER, log, files, deeds];
    const [file, ...args] = [...command, ...node] as [string, ...string[]];
    const own = point === undefined ? {} : { FAULT_POINT: point, FAULT_TIMES: String(times) };
    const child = spawn(file, args, {
      env: { ...process.env, NODE_COMPILE_CACHE: CACHE, ...own, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const opening = Promise.withResolvers<void>();
    const address = Promise.withResolvers<string | undefined>();
    this.opening = opening.promise;
    this.address = address.promise;
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        opening.resolve();
        address.resolve(undefined);
        resolve(code ?? signal ?? "SIGKILL");
      });
    });
    createInterface(child.stdout).on("line", (line) => {
      if (line === "opening") opening.resolve();
      else if (line.startsWith("http://")) address.resolve(line);
      else this.said.push(line);
    });
  }

  /** Ends it without warning, and resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  /** Asks it to end, and resolves with how it did. */
  async terminate(): Promise<Exit> {
    this.#child.kill("SIGTERM");
    return this.exited;
  }
}

/** What the servers compile is kept, so that the next one starts sooner. */
const CACHE = join(tmpdir(), "troupe-faults-cache");

const SERVER = fileURLToPath(new URL("server.ts", import.meta.url));
