import type { Snapshot } from "xstate";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { ActorSystem, ActorTree } from "./actor-system.ts";
import { LiveActor } from "./live-actor.ts";

/** A handler to run as an actor. */
export interface HandlerOptions {
  /** What it is called by: the actor of a run, or of another handler. */
  readonly parent: HandlerParent;
  /** The call that it works for. */
  readonly id: CallId;
  readonly agent: string;
  readonly input: HandlerInput;
}

/** What has handlers below it. */
export interface HandlerParent extends ActorTree {
  started(child: ActorTree): void;
  ended(child: ActorTree): void;
}

/** What a handler is asked. */
export interface HandlerInput {
  readonly operation: string;
  readonly input: Json;
}

/** The state of a handler as its actor shows it. */
type HandlerSnapshot = Snapshot<Json | undefined> & { readonly input: HandlerInput };

/** A running handler as an actor of XState, a child of what has called it. */
export class HandlerActor extends LiveActor<HandlerSnapshot> implements HandlerParent {
  readonly src: string;
  readonly #input: HandlerInput;
  readonly #above: HandlerParent;
  /** The handlers that it has called, and its machine, while they run. */
  #children: Set<ActorTree> | undefined;
  #end: HandlerEnded = RUNNING;
  #abort: AbortController | undefined;

  constructor(system: ActorSystem, { parent, id, agent, input }: HandlerOptions) {
    super(system, { parent: parent.ref, id });
    this.src = agent;
    this.#input = input;
    this.#above = parent;
    parent.started(this);
    this.begin(input);
  }

  get logic(): { readonly config: object } {
    return { config: { id: this.src } };
  }

  get children(): Iterable<ActorTree> {
    return this.#children ?? [];
  }

  started(child: ActorTree): void {
    (this.#children ??= new Set()).add(child);
  }

  ended(child: ActorTree): void {
    this.#children?.delete(child);
  }

  /** Whether it was stopped before it had ended. */
  get isStopped(): boolean {
    return this.#end.status === "stopped";
  }

  /** Aborts when the handler is stopped. Made when it is asked for: few handlers do, and it costs more than the actor. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.isStopped) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** The handler has ended. */
  done(output: Json | undefined): void {
    this.#finish({ status: "done", output, error: undefined });
  }

  /** The handler has thrown. */
  failed(error: unknown): void {
    this.#finish({ status: "error", output: undefined, error });
  }

  _stop(): void {
    if (this.hasEnded) return;
    this.#finish(STOPPED);
    this.#abort?.abort();
  }

  protected show(): HandlerSnapshot {
    return { ...this.#end, input: this.#input };
  }

  /** A handler takes no events: what a turn waits for comes through its run. */
  protected receive(): void {}

  #finish(end: HandlerEnded): void {
    if (this.hasEnded) return;
    this.#end = end;
    this.#above.ended(this);
    this.#children?.clear();
    this.end({ type: `handler.${end.status}` });
  }
}

/** The end of a handler. */
type HandlerEnded = Snapshot<Json | undefined>;

const RUNNING: HandlerEnded = { status: "active", output: undefined, error: undefined };

const STOPPED: HandlerEnded = { status: "stopped", output: undefined, error: undefined };
