import type { ReadinessPart } from "../ports/readiness.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ReportFault } from "./request-listener.ts";

/** A protocol with a socket of its own. It starts and stops with the server. */
export interface Listener {
  /** The name of the protocol. */
  readonly name: string;
  /** Starts to listen. Its runtime is that of the program: what it lets in from outside works with `runtime.as`. */
  listen(runtime: Runtime, options: ListenOptions): Promise<Listening>;
}

/** What a listener starts with. */
export interface ListenOptions {
  /** Gets unexpected errors. */
  readonly report: ReportFault;
  /** Whether the server asks who makes a request, so that a listener must not let in everyone. */
  readonly authenticated: boolean;
}

/** A listener that accepts connections. */
export interface Listening {
  /** Where clients reach it, for people. */
  readonly address: string;
  /** What is wrong at present although it listens, in a sentence without addresses; absent or `undefined` if nothing is. */
  trouble?(): string | undefined;
  /** Stops properly: it waits for running answers, and cuts the rest after `graceMs`. */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Where a protocol is served. */
export interface ListenerAddress {
  readonly name: string;
  readonly address: string;
}

/** The listeners of a server. From its creation on, each is a part of what `/readyz` says. */
export class Listeners {
  readonly #runtime: Runtime;
  readonly #options: ListenOptions;
  readonly #parts: readonly ListenerPart[];

  constructor(listeners: readonly Listener[], runtime: Runtime, options: ListenOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.#parts = listeners.map((listener) => new ListenerPart(listener, runtime));
  }

  /** Where those are that have started. */
  get addresses(): readonly ListenerAddress[] {
    return this.#parts.flatMap(({ name, address }) => (address === undefined ? [] : [{ name, address }]));
  }

  /** Starts them one after the other. Those before one that fails listen until `close`. */
  async start(): Promise<void> {
    for (const part of this.#parts) await part.start(this.#runtime, this.#options);
  }

  /** Stops those that have started. */
  async close(options: { readonly graceMs: number }): Promise<void> {
    const ends = await Promise.allSettled(this.#parts.map((part) => part.close(options)));
    for (const end of ends)
      if (end.status === "rejected") this.#options.report("stopping a listener failed", end.reason);
  }
}

/** A listener, and whether it listens. */
class ListenerPart {
  readonly #listener: Listener;
  readonly #leave: () => void;
  #listening: Listening | undefined;

  constructor(listener: Listener, runtime: Runtime) {
    this.#listener = listener;
    this.#leave = runtime.readiness.add(() => this.#state);
  }

  get name(): string {
    return this.#listener.name;
  }

  get address(): string | undefined {
    return this.#listening?.address;
  }

  async start(runtime: Runtime, options: ListenOptions): Promise<void> {
    this.#listening = await this.#listener.listen(runtime, options);
  }

  async close(options: { readonly graceMs: number }): Promise<void> {
    this.#leave();
    await this.#listening?.close(options);
  }

  get #state(): ReadinessPart {
    const { name } = this;
    if (this.#listening === undefined)
      return { name, state: "failed", detail: `${name} does not listen yet` };
    const trouble = this.#listening.trouble?.();
    return { name, ...(trouble === undefined ? { state: "ready" } : { state: "degraded", detail: trouble }) };
  }
}
