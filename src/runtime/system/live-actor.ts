import { toObserver } from "xstate";
import type {
  ActorRef,
  AnyActorRef,
  EventObject,
  Observer,
  Snapshot,
  Subscribable,
  Subscription,
} from "xstate";
import type { ActorSystem, ActorTree, SystemInternals } from "./actor-system.ts";

/** The states in which XState knows an actor. */
const RUNNING = 1;
const STOPPED = 2;

/** A part of the snapshots of an actor. */
interface Selection<Selected> extends Subscribable<Selected> {
  get(): Selected;
}

/** Where an actor stands. */
export interface LiveActorOptions {
  readonly id: string;
  /** What has started it. */
  readonly parent: AnyActorRef;
}

/**
 * An actor of XState whose behavior is the runtime's own: a run, or a handler. XState makes an actor of about twenty objects, all
 * of which a run would keep; this one makes its snapshot when it is asked for, and a mailbox when an event has to wait.
 */
export abstract class LiveActor<State extends Snapshot<unknown>>
  implements ActorRef<State, EventObject>, ActorTree
{
  readonly id: string;
  system: SystemInternals;
  _parent: AnyActorRef;
  _processingStatus: number = RUNNING;
  declare [Symbol.observable]: () => this;
  #sessionId: string | undefined;
  #snapshot: State | undefined;
  #isProcessing = false;
  /** The events that came while another one was processed. */
  #mailbox: EventObject[] | undefined;
  #observers: Set<Observer<State>> | undefined;

  protected constructor({ shared }: ActorSystem, { id, parent }: LiveActorOptions) {
    this.id = id;
    this.system = shared;
    this._parent = parent;
  }

  /** What it runs. */
  abstract get src(): string;

  /** What inspectors draw of it. */
  abstract get logic(): { readonly config: object };

  abstract get children(): Iterable<ActorTree>;

  get ref(): this {
    return this;
  }

  get sessionId(): string {
    return (this.#sessionId ??= this.system._bookId());
  }

  /** Its state now, as its snapshot shows it. */
  protected abstract show(): State;

  /** Processes an event, which may be anything that a program has sent. */
  protected abstract receive(event: unknown): void;

  /** Announces it to inspectors, when it is complete. */
  protected begin(input?: unknown): void {
    if (!this.isInspected) return;
    const { system } = this;
    const event = { type: "xstate.init", input };
    system._sendInspectionEvent({ type: "@xstate.actor", actorRef: this });
    system._sendInspectionEvent({ type: "@xstate.event", sourceRef: this._parent, actorRef: this, event });
    this.changed(event);
  }

  /** Its state has changed. */
  protected changed(event: EventObject): void {
    this.#snapshot = undefined;
    if (this.#observers) for (const { next } of this.#observers) this.#tell(next, this.getSnapshot());
    if (!this.isInspected) return;
    const snapshot = this.getSnapshot();
    this.system._sendInspectionEvent({ type: "@xstate.snapshot", actorRef: this, event, snapshot });
  }

  /** It has ended: what is sent to it from now on is dropped. */
  protected end(event: EventObject): void {
    this.changed(event);
    this._processingStatus = STOPPED;
    const observers = this.#observers;
    this.#observers = undefined;
    const { status, error, output } = this.getSnapshot();
    for (const observer of observers ?? [])
      if (status === "error") this.#tell(observer.error, error);
      else this.#tell(observer.complete, undefined);
    if (!this.isInspected || status === "stopped" || status === "active") return;
    const type = `xstate.${status}.actor.${this.id}`;
    const told = { type, actorId: this.id, ...(status === "done" ? { output } : { error }) };
    this.system._relay(this, this._parent, told);
  }

  /** Whether an inspector is attached. Without one, nothing is made for it. */
  protected get isInspected(): boolean {
    return this.system.isInspected === true;
  }

  /** Whether it has ended. */
  get hasEnded(): boolean {
    return this._processingStatus === STOPPED;
  }

  send(event: EventObject): void {
    this.system._relay(undefined, this, event);
  }

  _send(event: EventObject): void {
    if (this.hasEnded) return;
    if (this.#isProcessing) (this.#mailbox ??= []).push(event);
    else this.process(() => this.receive(event));
  }

  /** Whether an event is processed, so that the next one has to wait. */
  protected get isProcessing(): boolean {
    return this.#isProcessing;
  }

  /** Processes an event, and then those that have come meanwhile. */
  protected process<Result>(work: () => Result): Result {
    this.#isProcessing = true;
    try {
      return work();
    } finally {
      // An array is cheap here, because few messages of a run come while another one begins.
      for (let at = 0; at < (this.#mailbox?.length ?? 0); at += 1) this.receive(this.#mailbox?.[at]);
      this.#isProcessing = false;
      this.#mailbox = undefined;
    }
  }

  getSnapshot(): State {
    return (this.#snapshot ??= this.show());
  }

  getPersistedSnapshot(): Snapshot<unknown> {
    return this.getSnapshot();
  }

  subscribe(
    next: Observer<State> | ((snapshot: State) => void),
    error?: (error: unknown) => void,
    complete?: () => void,
  ): Subscription {
    const observer = toObserver(next as (snapshot: State) => void, error, complete);
    if (this.hasEnded) {
      const { status, error: thrown } = this.getSnapshot();
      if (status === "error") this.#tell(observer.error, thrown);
      else this.#tell(observer.complete, undefined);
      return { unsubscribe() {} };
    }
    const observers = (this.#observers ??= new Set());
    observers.add(observer);
    return { unsubscribe: () => void observers.delete(observer) };
  }

  /** It emits nothing: what a run emits are its events in the log. */
  on(): Subscription {
    return { unsubscribe() {} };
  }

  select<Selected>(
    selector: (snapshot: State) => Selected,
    isEqual: (a: Selected, b: Selected) => boolean = Object.is,
  ): Selection<Selected> {
    return {
      get: () => selector(this.getSnapshot()),
      subscribe: (observer: Observer<Selected> | ((selected: Selected) => void)) => {
        const { next } = toObserver(observer as (selected: Selected) => void);
        let before = selector(this.getSnapshot());
        return this.subscribe((snapshot) => {
          const selected = selector(snapshot);
          if (isEqual(before, selected)) return;
          before = selected;
          next?.(selected);
        });
      },
    };
  }

  /** An actor that the runtime starts, runs. */
  start(): void {}

  stop(): void {
    throw new Error("A non-root actor cannot be stopped directly.");
  }

  toJSON(): object {
    return { xstate$$type: 1, id: this.id };
  }

  /** The name of `Symbol.observable` where there is none. */
  "@@observable"(): this {
    return this;
  }

  /** Calls a function of an observer, which may throw: the actor continues. */
  #tell<Value>(told: ((value: Value) => void) | undefined, value: Value): void {
    try {
      told?.(value);
    } catch (error) {
      this.system.report(error);
    }
  }
}
