import { createRuntime } from "troupe";
import type { Agent, Runtime } from "troupe";
import { serve } from "troupe/node";
import type { Server, ServeOptions } from "troupe/node";
import { agentic } from "../../../src/adapters/agentic/index.ts";
import { KeptLog } from "../kept-log.ts";
import { checkFrame } from "./frame-schema.ts";

/** An event of the dialect, with the id of its frame. */
export interface Frame {
  readonly event?: string;
  readonly id?: string;
  readonly data: {
    readonly type: string;
    readonly agent: string;
    readonly depth: number;
    readonly payload: { readonly [key: string]: unknown };
    readonly result?: unknown;
  };
}

/** What `process` and `resume` answer. */
export interface Accepted {
  readonly request_id: string;
  readonly thread_id: string;
}

/** A server on a real socket that speaks the dialect, by default under /agentic. */
export class AgenticServer implements AsyncDisposable {
  readonly #agents: readonly Agent[];
  readonly #options: ServeOptions & { readonly base?: string };
  readonly #log = new KeptLog();
  #server!: Server;
  runtime!: Runtime;

  private constructor(agents: readonly Agent[], options: ServeOptions) {
    this.#agents = agents;
    this.#options = options;
  }

  static async start(
    agents: readonly Agent[],
    options: ServeOptions & { readonly base?: string } = {},
  ): Promise<AgenticServer> {
    const server = new AgenticServer(agents, options);
    await server.#open();
    return server;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Stops the server and starts it again on the same log. */
  async restart(): Promise<void> {
    await this.#close();
    await this.#open();
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, { headers });
  }

  post(path: string, body?: unknown): Promise<Response> {
    if (body === undefined) return fetch(this.url + path, { method: "POST" });
    const headers = { "content-type": "application/json" };
    return fetch(this.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async json(response: Promise<Response>): Promise<unknown> {
    return (await response).json();
  }

  /** Sends a prompt to an agent. */
  async ask(agent: string, prompt: string, threadId?: string): Promise<Accepted> {
    const body = { prompt, ...(threadId !== undefined && { thread_id: threadId }) };
    return (await this.json(this.post(`/agentic/${agent}/process`, body))) as Accepted;
  }

  /** Reads the stream of a request to its end. */
  async stream(agent: string, requestId: string, more = ""): Promise<readonly Frame[]> {
    const path = `/agentic/${agent}/getevents?request_id=${requestId}&stream=true${more}`;
    return toFrames(await (await this.get(path)).text());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    this.#log.remove();
  }

  async #open(): Promise<void> {
    const { base, ...options } = this.#options;
    this.runtime = createRuntime({ agents: this.#agents, log: this.#log.open() });
    await this.runtime.ready();
    const adapters = [agentic(base === undefined ? {} : { base })];
    this.#server = await serve(this.runtime, { drain: false, adapters, ...options });
  }

  async #close(): Promise<void> {
    await this.#server.close();
    await this.runtime.close();
  }
}

function toFrames(text: string): readonly Frame[] {
  return text
    .split("\n\n")
    .filter((frame) => frame.includes("data: "))
    .map((frame) => {
      const fields = frame.split("\n").map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? []);
      const named = Object.fromEntries(fields) as { readonly data: string };
      const data = JSON.parse(named.data) as Frame["data"];
      checkFrame(data);
      return { ...named, data };
    });
}
