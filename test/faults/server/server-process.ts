import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Point } from "./points.ts";

/** The start options of a server. */
export interface StartOptions {
  /** The point where it kills itself, and the n-th time there. */
  readonly point?: Point;
  readonly times?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The command that starts it, for example `nsenter …`. */
  readonly command?: readonly string[];
}

/** The directory of its log and files, and the file of its effects. */
export interface Places {
  readonly log: string;
  readonly files: string;
  readonly effects: string;
}

/** The end of a process: its exit code, or the signal that killed it. */
export type Exit = number | NodeJS.Signals;

/** A server in its own process. */
export class ServerProcess {
  readonly #child: ChildProcess;
  /** Resolves when it is about to open its directory. */
  readonly opening: Promise<void>;
  /** Resolves with its address once it listens; `undefined` if it ends before. */
  readonly address: Promise<string | undefined>;
  readonly exited: Promise<Exit>;
  /** Its output besides its address. */
  readonly said: string[] = [];

  constructor({ log, files, effects }: Places, { point, times = 1, env, command = [] }: StartOptions = {}) {
    const node = [process.execPath, "--disable-warning=ExperimentalWarning", SERVER, log, files, effects];
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

  /** Kills it, and resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  /** Sends SIGTERM, and resolves with its exit. */
  async terminate(): Promise<Exit> {
    this.#child.kill("SIGTERM");
    return this.exited;
  }
}

/** The compile cache of the servers is kept, so that the next one starts faster. */
const CACHE = join(tmpdir(), "troupe-faults-cache");

const SERVER = fileURLToPath(new URL("server.ts", import.meta.url));
