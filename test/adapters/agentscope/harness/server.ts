import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import type { Agent, Environment, Runtime } from "troupe";
import { serve } from "troupe/node";
import type { Server, ServeOptions } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { agentscope } from "../../../../src/adapters/agentscope/index.ts";
import type { AgentScopeOptions } from "../../../../src/adapters/agentscope/index.ts";
import { AnswerStream } from "./answer-stream.ts";

export interface ServerSettings extends AgentScopeOptions {
  readonly serve?: ServeOptions;
  /** Keeps the log in a directory, so that the server can be restarted. */
  readonly durable?: boolean;
  readonly environment?: Environment;
}

/** A server on a real socket that speaks both protocols. The first agent is the default one. */
export class TestServer implements AsyncDisposable {
  readonly #agents: readonly Agent[];
  readonly #settings: ServerSettings;
  #directory: string | undefined;
  #server!: Server;
  runtime!: Runtime;

  private constructor(agents: readonly Agent[], settings: ServerSettings) {
    this.#agents = agents;
    this.#settings = settings;
  }

  static async start(agents: readonly Agent[], settings: ServerSettings = {}): Promise<TestServer> {
    const server = new TestServer(agents, settings);
    if (settings.durable === true) server.#directory = await mkdtemp(join(tmpdir(), "agentscope-"));
    await server.#open();
    return server;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Stops the server and starts it again on the same log. */
  async restart(): Promise<void> {
    await this.close();
    await this.#open();
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.runtime.close();
  }

  /** Stops serving; the runtime continues. */
  closeServer(): Promise<void> {
    return this.#server.close();
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, { headers });
  }

  post(
    path: string,
    body: unknown,
    {
      headers = {},
      signal,
    }: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  /** Opens the stream of a request. */
  async open(
    body: object,
    path = "/agentscope/process",
    options: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<AnswerStream> {
    return AnswerStream.of(await this.post(path, body, options));
  }

  /** Opens the stream of an address. */
  async openUrl(path: string): Promise<AnswerStream> {
    return AnswerStream.of(await this.get(path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true });
  }

  async #open(): Promise<void> {
    const { serve: options = {}, durable: _, environment, ...settings } = this.#settings;
    const log = this.#directory === undefined ? {} : { log: sqliteLog(this.#directory) };
    this.runtime = createRuntime({ agents: this.#agents, ...log, ...(environment && { environment }) });
    await this.runtime.ready();
    this.#server = await serve(this.runtime, { drain: false, adapters: [agentscope(settings)], ...options });
  }
}

/** A body with one text of the user. */
export function say(text: string, more: object = {}): object {
  return { input: [{ role: "user", type: "message", content: [{ type: "text", text }] }], ...more };
}

/** A body that answers a request for approval. */
export function approve(data: object, more: object = {}): object {
  const content = [{ type: "data", data }];
  return { input: [{ role: "user", type: "mcp_approval_response", content }], ...more };
}
