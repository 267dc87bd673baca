import { createRuntime } from "troupe";
import type { Agent, Environment, Runtime } from "troupe";
import { serve } from "troupe/node";
import type { Server, ServeOptions } from "troupe/node";
import { KeptLog } from "./kept-log.ts";

/** How the server of a test is started. */
export interface RestartableSettings {
  readonly serve?: ServeOptions;
  /** Keeps the log and the files, so that the server can be restarted. */
  readonly durable?: boolean;
  readonly environment?: Environment;
}

type Adapter = NonNullable<ServeOptions["adapters"]>[number];

/** A server on a real socket with an adapter besides the native protocol. The first agent is the default one. */
export class RestartableServer implements AsyncDisposable {
  readonly #agents: readonly Agent[];
  readonly #settings: RestartableSettings;
  readonly #createAdapter: () => Adapter;
  readonly #log: KeptLog | undefined;
  #server!: Server;
  runtime!: Runtime;

  constructor(agents: readonly Agent[], settings: RestartableSettings, createAdapter: () => Adapter) {
    this.#agents = agents;
    this.#settings = settings;
    this.#createAdapter = createAdapter;
    if (settings.durable === true) this.#log = new KeptLog();
  }

  get url(): string {
    return this.#server.url;
  }

  /** Starts the server, after a close on the same log if it is durable. */
  async listen(more: ServeOptions = {}): Promise<void> {
    const { serve: options = {}, environment } = this.#settings;
    const log = this.#log?.open();
    this.runtime = createRuntime({
      agents: this.#agents,
      ...(log && { log }),
      ...(environment && { environment }),
    });
    await this.runtime.ready();
    const adapters = [this.#createAdapter()];
    this.#server = await serve(this.runtime, { drain: false, adapters, ...options, ...more });
  }

  /** Stops the server and starts it again on the same log. */
  async restart(options: ServeOptions = {}): Promise<void> {
    await this.close();
    await this.listen(options);
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.runtime.close();
  }

  /** Stops serving; the runtime continues. */
  closeServer(): Promise<void> {
    return this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    this.#log?.remove();
  }
}
