import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";

const MAIN = join(import.meta.dirname, "../../../src/cli/main.ts");
const NODE = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning"];

/** `troupe serve` on the agents of a directory, from source, restarted whenever it dies. */
export class RestartedServer implements AsyncDisposable {
  /** How often the process has died. */
  deaths = 0;
  /** The output of all its processes. */
  output = "";
  readonly #agents: string;
  readonly #imports: readonly string[];
  readonly #data = mkdtemp(join(tmpdir(), "troupe-restarted-"));
  #child: ChildProcess | undefined;
  #url = Promise.withResolvers<string>();
  #isStopped = false;
  #closed: Promise<void> = Promise.resolve();

  /** `loaded` are modules that each process loads first. */
  constructor(agents: string, loaded: readonly string[] = []) {
    this.#agents = join(import.meta.dirname, agents);
    this.#imports = loaded.map((path) => `--import=${path}`);
    void this.#start();
  }

  /** The address of the current process, once it serves. */
  get url(): Promise<string> {
    return this.#url.promise;
  }

  /** Sends a signal to the process that serves. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Ends the process that serves, as somebody else would; resolves when the next one has been started. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#closed;
  }

  /** Sends a chat until it has ended, in any process; resolves with its last event. */
  async ask(agent: string, input: string, requestId: string): Promise<Ended> {
    const request = { type: "ChatRequest", input, request_id: requestId, wait: "completed" };
    for (;;) {
      const event = (await this.post(agent, request)) as Ended;
      if (event.type === "RequestCompleted") return event;
    }
  }

  /** Sends a request, which must be idempotent, until a process answers it. */
  async post(agent: string, request: object): Promise<unknown> {
    const headers = { "content-type": "application/json" };
    for (;;) {
      const url = await this.url;
      try {
        const response = await fetch(`${url}/${agent}/process`, {
          method: "POST",
          headers,
          body: JSON.stringify(request),
        });
        return await response.json();
      } catch {
        // The process has died; the next one has another address.
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill("SIGKILL");
    await this.#closed;
    await rm(await this.#data, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const data = await this.#data;
    if (this.#isStopped) return;
    const args = [
      ...NODE,
      ...this.#imports,
      MAIN,
      "serve",
      "--agents",
      this.#agents,
      "--data",
      data,
      "--port",
      "0",
    ];
    const child = spawn(process.execPath, args, { cwd: data, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        this.output += text;
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
        if (found !== undefined) this.#url.resolve(found);
      });
    }
    child.once("exit", () => {
      this.#url = Promise.withResolvers();
    });
    this.#closed = new Promise((resolve) => {
      child.once("close", () => {
        this.deaths += 1;
        resolve();
        void this.#start();
      });
    });
  }
}

/** The parts of the last event of a request that the tests check. */
export interface Ended {
  readonly type: string;
  readonly finish_reason?: string;
  readonly error?: { readonly code: string };
}
