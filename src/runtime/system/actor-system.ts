import { createActor, toObserver } from "xstate";
import type {
  ActorRef,
  AnyActorLogic,
  AnyActorRef,
  EventObject,
  InspectionEvent,
  Observer,
  Subscription,
} from "xstate";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunSnapshot } from "./run-snapshot.ts";

/** Receives the inspection events of XState. */
export type Inspector = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/** A system of XState. */
export type AnyActorSystem = AnyActorRef["system"];

/** The actors in memory. */
export interface LiveActors {
  /** The actor of a run; `undefined` if the run is not in memory. */
  get(runId: RunId): RunRef | undefined;
  /** The actors of all runs in memory, by the ids of the runs. */
  getAll(): Readonly<Record<string, RunRef>>;
  /** Attaches an inspector; it gets what it is given until it is unsubscribed. An error of it affects nothing. */
  inspect(inspector: Inspector): Subscription;
}

/** A run as an actor of XState. */
export type RunRef = ActorRef<RunSnapshot, RunEvent>;

/** An event that a program has sent to a run: a message for its agent. */
export interface RunEvent extends EventObject {
  readonly body?: unknown;
}

/** What XState calls on a system besides its public methods. */
export interface SystemInternals extends AnyActorSystem {
  _bookId(): string;
  _register(sessionId: string, actor: AnyActorRef): string;
  _unregister(actor: AnyActorRef): void;
  _set(systemId: string, actor: AnyActorRef): void;
  _relay(source: AnyActorRef | undefined, target: AnyActorRef, event: EventObject): void;
  _sendInspectionEvent(event: UnplacedEvent): void;
  /** Whether an inspector is attached. */
  isInspected?: boolean;
  /** Takes what a program has sent to a run. */
  sent(runId: RunId, event: RunEvent): void;
  /** Takes what an observer has thrown. */
  report(error: unknown): void;
}

/** An inspection event before its system adds its root. */
export type UnplacedEvent = InspectionEvent extends infer Event
  ? Event extends InspectionEvent
    ? Omit<Event, "rootId">
    : never
  : never;

/** An actor and those below it. */
export interface ActorTree {
  readonly ref: AnyActorRef;
  /** The actors below it that have not ended. */
  readonly children: Iterable<ActorTree>;
}

/** The runs in memory. */
export interface LoadedRuns {
  find(runId: RunId): ActorTree | undefined;
  all(): Iterable<ActorTree>;
}

/**
 * All actors of a runtime that are in memory, as one system of XState: the runs are children of its root and have their ids as
 * `systemId`, and each handler and machine is a child of what has started it. The system has no list of its own: a run is
 * found where it is kept, and each actor knows those below it.
 */
export class ActorSystem {
  /** The parent of the runs. */
  readonly root: AnyActorRef;
  /** The system as programs of XState see it. */
  readonly shared: SystemInternals;
  /** Where the runs are kept. */
  runs: LoadedRuns = NO_RUNS;

  constructor({ telemetry }: { readonly telemetry: Telemetry }) {
    const root = createActor(ROOT, { id: "troupe" });
    const system = root.system as unknown as SystemInternals;
    const { inspect } = system;
    let inspectors = 0;
    // A map with frequent changes would keep everything that ended actors reach until the next full garbage collection.
    system._register = (sessionId) => sessionId;
    system._unregister = () => {};
    system._set = () => {};
    system.get = (systemId) => this.runs.find(systemId as RunId)?.ref;
    system.getAll = () => Object.fromEntries([...this.runs.all()].map(({ ref }) => [ref.id, ref]));
    system.inspect = (observer) => {
      const { next } = toObserver(observer);
      const guarded = (event: InspectionEvent): void => {
        try {
          next?.(event);
        } catch (error) {
          telemetry.fault("the inspector failed", error);
        }
      };
      this.#announce({ ref: this.root, children: this.runs.all() }, guarded);
      inspectors += 1;
      system.isInspected = true;
      const { unsubscribe } = inspect(guarded);
      let isOver = false;
      return {
        unsubscribe() {
          unsubscribe();
          if (isOver) return;
          isOver = true;
          inspectors -= 1;
          system.isInspected = inspectors > 0;
        },
      };
    };
    system.sent = () => {};
    system.report = (error) => telemetry.fault("an observer of an actor failed", error);
    this.shared = system;
    this.root = root.start();
  }

  stop(): void {
    (this.root as ReturnType<typeof createActor>).stop();
  }

  /** Tells a new inspector of the actors that are there. */
  #announce({ ref: actorRef, children }: ActorTree, inspector: (event: InspectionEvent) => void): void {
    const { sessionId: rootId } = this.root;
    const snapshot: unknown = actorRef.getSnapshot();
    inspector({ type: "@xstate.actor", rootId, actorRef });
    inspector({ type: "@xstate.snapshot", rootId, actorRef, event: STARTED, snapshot: snapshot as never });
    for (const child of children) this.#announce(child, inspector);
  }
}

/** A machine and the actors inside it. */
export function machineTree(ref: AnyActorRef): ActorTree {
  return {
    ref,
    get children() {
      const { children = {} } = ref.getSnapshot() as {
        readonly children?: Readonly<Record<string, AnyActorRef>>;
      };
      return Object.values(children).map(machineTree);
    },
  };
}

/** Sends an event from one actor to another, so that inspectors see from whom it comes. */
export function relay(source: AnyActorRef, target: AnyActorRef, event: EventObject): void {
  (source.system as unknown as SystemInternals)._relay(source, target, event);
}

/** Stops an actor that has a parent: XState has its parent do that. */
export function stopActor(actor: AnyActorRef): void {
  (actor as StoppableActor)._stop();
}

/** What XState has on an actor besides its public methods. */
interface StoppableActor extends AnyActorRef {
  _stop(): void;
}

/** The snapshot of an actor without a state of its own. */
const ACTIVE = { status: "active", output: undefined, error: undefined } as const;

const NO_RUNS: LoadedRuns = { find: () => undefined, all: () => [] };

const STARTED: EventObject = { type: "xstate.init" };

const ROOT: AnyActorLogic = {
  config: { id: "troupe" },
  transition: (snapshot: unknown) => snapshot,
  getInitialSnapshot: () => ACTIVE,
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
} as unknown as AnyActorLogic;
