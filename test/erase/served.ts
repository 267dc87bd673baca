import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { RunId } from "troupe/protocol";
import { WIRES } from "../../src/cli/serve/wires.ts";

/** How long runs may take to be gone, in milliseconds. */
const GONE_MS = 1_800_000;

const root = resolve(import.meta.dirname, "../..");
const main = join(root, "dist/cli/main.js");

const token = "an-admin-token-of-this-test";

/** A `troupe serve` in a process of its own, which can be killed, and all that it has said. */
export class Served {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #url = "";

  private constructor(args: readonly string[], env: Readonly<Record<string, string>>) {
    const agents = join(import.meta.dirname, "agents");
    const config = join(import.meta.dirname, "serving.ts");
    const options = ["--port=0", "--agents", agents, "--config", config, "--wires", WIRES.join(",")];
    this.#child = spawn(process.execPath, [main, "serve", ...options, ...args], {
      env: { ...process.env, NO_COLOR: "1", TROUPE_TOKEN: token, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Resolves when it listens. */
  static async start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Served> {
    const served = new Served(args, env);
    const { stdout, stderr } = served.#child;
    await new Promise<void>((listens, fail) => {
      let text = "";
      for (const stream of [stdout, stderr])
        stream?.setEncoding("utf8").on("data", (part: string) => {
          text += part;
          served.lines.push(...part.split("\n"));
          served.#url ||= /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? "";
          if (served.#url !== "") listens();
        });
      served.#child.once("exit", () => fail(new Error(`the server has ended:\n${text}`)));
    });
    return served;
  }

  /** Erases an owner with `troupe erase`. Resolves with its exit code. */
  async erase(owner: string): Promise<number | null> {
    const child = spawn(process.execPath, [main, "erase", "--owner", owner, "--yes", "--url", this.#url], {
      env: { ...process.env, TROUPE_TOKEN: token },
      stdio: "ignore",
    });
    const [code] = (await once(child, "exit")) as [number | null];
    return code;
  }

  /** Where it is served, and the token of its admin. */
  get place(): { readonly url: string; readonly token: string } {
    return { url: this.#url, token };
  }

  /** Resolves when none of the runs is there any more. */
  async untilGone(runs: readonly RunId[]): Promise<void> {
    const until = performance.now() + GONE_MS;
    for (const run of runs)
      while (!(await this.#isGone(run))) {
        if (performance.now() > until) throw new Error(`run ${run} is still there`);
        await setTimeout(5);
      }
  }

  async countGone(runs: readonly RunId[]): Promise<number> {
    let gone = 0;
    for (const run of runs) if (await this.#isGone(run)) gone += 1;
    return gone;
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #isGone(run: RunId): Promise<boolean> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${this.#url}/runs/${run}`, { headers });
    await answer.arrayBuffer();
    return answer.status === 410;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }
}
