import { createActor, createMachine, fromPromise } from "xstate";
import type { Actor, AnyActorRef, InspectionEvent, Observer } from "xstate";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";

/** Receives the inspection events of XState. */
export type Inspector = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/** The handler that an inspector is told about. */
export interface InspectedHandler {
  /** The id of its call. */
  readonly id: string;
  readonly agent: string;
  readonly operation: string;
  readonly input: Json;
}

/** A handler as an actor of XState. */
export interface RunningHandler {
  readonly ref: AnyActorRef;
  stop(): void;
}

/**
 * The actors of a run in memory as one system of XState, for inspectors: the lifecycle of the run is the root, and each
 * handler is a child of the handler that called it. Exists only if the runtime has an inspector.
 */
export class RunSystem {
  readonly #root: AnyActorRef;
  readonly #pass: (event: InspectionEvent) => void;

  /** `transitions` are the next states of the run, by state and event. */
  constructor(
    runId: RunId,
    transitions: Readonly<Record<string, Readonly<Record<string, string>>>>,
    { inspect, telemetry }: { readonly inspect: Inspector; readonly telemetry: Telemetry },
  ) {
    const next = typeof inspect === "function" ? inspect : inspect.next?.bind(inspect);
    this.#pass = (event) => {
      try {
        next?.(event);
      } catch (error) {
        telemetry.fault("the inspector failed", error);
      }
    };
    const states = Object.entries(transitions).map(([state, on]) => [
      state,
      Object.keys(on).length === 0 ? { type: "final" as const } : { on },
    ]);
    // The failure of a handler is an event of its turn, not of the run.
    const lifecycle = createMachine({
      id: "run",
      initial: "idle",
      on: { "*": {} },
      states: Object.fromEntries(states) as Record<string, object>,
    });
    this.#root = createActor(lifecycle, { id: runId, inspect: this.#pass }).start();
  }

  /** The phase of the run changes. */
  enter(type: string): void {
    this.#root.send({ type });
  }

  /** Runs a handler below its caller, or below the run. */
  start(
    { id, agent, operation, input }: InspectedHandler,
    caller: AnyActorRef | undefined,
    run: (signal: AbortSignal) => Promise<void>,
    failed: (thrown: unknown) => void,
  ): RunningHandler {
    const parent = caller ?? this.#root;
    const logic = fromPromise<void, Json>(({ signal }) => run(signal));
    const ref = createActor(logic, { parent, id, input: { operation, input }, src: agent });
    // Without an error observer, XState would throw the error in the process.
    ref.subscribe({ error: failed });
    ref.start();
    const { _actorScope: scope } = parent as unknown as ActorWithScope;
    return { ref, stop: () => scope.stopChild(ref) };
  }

  /** Passes on the events of a machine, which has a system of its own, as those of an actor below its handler. */
  inspectorOf(handler: AnyActorRef | undefined): (event: InspectionEvent) => void {
    const parent = handler ?? this.#root;
    const { sessionId: rootId } = this.#root;
    let machine: AnyActorRef | undefined;
    const place = (ref: AnyActorRef, systemRoot: string): AnyActorRef => {
      if (ref.sessionId !== systemRoot) return ref;
      machine ??= Object.create(ref, { _parent: { value: parent } }) as AnyActorRef;
      return machine;
    };
    return (event) => {
      const actorRef = place(event.actorRef as AnyActorRef, event.rootId);
      const source = event.type === "@xstate.event" ? event.sourceRef : undefined;
      const sourceRef = source && place(source as AnyActorRef, event.rootId);
      this.#pass({ ...event, rootId, actorRef, ...(sourceRef && { sourceRef }) });
    };
  }
}

/** A child cannot be stopped by itself; its parent stops it. */
interface ActorWithScope {
  readonly _actorScope: { stopChild(child: Actor<never> | AnyActorRef): void };
}
