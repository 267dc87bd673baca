import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";

/** A node of several on one database. */
export function clusterNode(
  folder: string,
  database: string,
  port: number,
  clusterPort: number,
  args: readonly string[] = [],
  program?: readonly string[],
): Node {
  return new Node(folder, port, {
    ...(program && { program }),
    args: ["--cluster", `http://127.0.0.1:${clusterPort}`, "--trust-proxy", ...args],
    env: {
      TROUPE_LOG: database,
      TROUPE_SECRETS_KEY: "a key of thirty-two characters ..",
      TROUPE_CLUSTER_SECRET: "a secret of all nodes",
    },
  });
}

/** A server that always has the same address. */
export class Node {
  readonly address: string;
  /** What it has printed, since its first start. */
  output = "";
  readonly #folder: string;
  readonly #program: readonly string[];
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ReturnType<typeof spawn> | undefined;

  constructor(
    folder: string,
    port: number,
    {
      args,
      env = {},
      program = PROGRAM,
    }: {
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      /** The arguments with which Node runs the command line; that of this version, if absent. */
      readonly program?: readonly string[];
    },
  ) {
    this.address = `127.0.0.1:${port}`;
    this.#folder = folder;
    this.#program = program;
    this.#args = ["serve", "--port", String(port), "--log-level", "warn", ...args];
    this.#env = env;
  }

  /** Starts the node; resolves when it is ready. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const child = spawn(process.execPath, [...this.#program, ...this.#args], {
      cwd: this.#folder,
      env: { ...process.env, ...this.#env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    this.#child = child;
    while ((await this.readiness()).status !== 200) {
      if (child.exitCode !== null)
        throw new Error(`a node ended with ${child.exitCode} while it started: ${this.output}`);
      await setTimeout(50);
    }
  }

  /** What the node says of its parts; status 0 if it does not answer. */
  async readiness(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`http://${this.address}/readyz`).catch(() => undefined);
    return { status: response?.status ?? 0, text: (await response?.text()) ?? "" };
  }

  /** Ends the node with SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  /** Ends the node without a warning. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return 0;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
    return child.exitCode;
  }
}

const PROGRAM = [resolve(import.meta.dirname, "../../dist/cli/main.js")];
