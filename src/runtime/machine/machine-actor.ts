import { createActor } from "xstate";
import type {
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  InspectionEvent,
  Snapshot,
} from "xstate";
import type { MachineStatus } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "../actor/actor.ts";
import type { Effect } from "../agent/agent.ts";
import { toCallFailure } from "../actor/call-failure.ts";
import { toActorPath } from "./actor-path.ts";
import type { Chart } from "./chart/chart.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { withJournaledActors } from "./journaled-logic.ts";
import type { LogicHost, StartedPromise } from "./journaled-logic.ts";
import { prepareCall } from "./start-call.ts";
import { checkTaken, startsSomething } from "./takes.ts";
import { toOperationEvent } from "./machine-input.ts";
import type { MachineEvent } from "./machine-input.ts";
import type { MachineFacts } from "../agent/accepted-operations.ts";
import type { MachineRequest, OpenMachine } from "../agent/machine-port.ts";
import { StateSteps } from "./chart/state-steps.ts";
import { leavingEvents } from "./chart/leaving-events.ts";
import { MachineWaits } from "./waits.ts";
import { MachineTimers } from "./timers.ts";
import type { MachineState } from "../journal/records.ts";
import type { ReplayScope } from "../replay/scope.ts";
import { checkName, toJson } from "../journal/json-limits.ts";
import type { Turn } from "../agent/turn-api.ts";
import { TurnHandle } from "../actor/turn-handle.ts";

/** The machine to run and its first event. */
export interface MachineRun {
  readonly machine: AnyStateMachine;
  readonly chart: Chart;
  readonly effect: Effect;
  readonly event: MachineEvent;
  readonly facts: MachineFacts;
  /** The result of a turn; default: the machine's output. */
  readonly output: ((snapshot: AnyMachineSnapshot) => unknown) | undefined;
}

/** Runs a machine until it is done or nothing is running in it; resolves with its output. */
export function runMachine(turn: Turn, run: MachineRun): Promise<unknown> {
  const { actor, scope } = TurnHandle.place(turn);
  return new Promise((resolve, reject) => {
    new MachineActor(turn, actor, scope, run, { resolve, reject }).start();
  });
}

/** Maximum size of a machine's state in one record. */
const STATE_LIMIT_BYTES = 1_048_576;

/** The event that starts a machine; it is no transition. */
const INIT = "xstate.init";

/** A machine with more transitions in one turn of the event loop counts as an endless loop. */
const TRANSITIONS_AT_ONCE = 1_000;

/** A running machine, whose waits, delays and promises are calls of its turn. */
class MachineActor implements MachineCalls, LogicHost, OpenMachine {
  readonly actor: Actor;
  readonly #turn: Turn;
  readonly #scope: ReplayScope;
  readonly #run: MachineRun;
  readonly #end: { readonly resolve: (output: unknown) => void; readonly reject: (error: unknown) => void };
  readonly #waits: MachineWaits;
  readonly #timers: MachineTimers;
  readonly #steps: StateSteps;
  /** The running promises by the path of their actor. */
  readonly #promises = new Map<string, CallId>();
  readonly #restored: MachineState | undefined;
  readonly #machine: ReturnType<typeof createActor<AnyStateMachine>>;
  #restoring = false;
  /** Whether a transition is under way: from its start until its state is settled. */
  #isMoving = false;
  /** The number of events that were sent to the machine and not processed yet, for example by its own actions. */
  #unprocessed = 0;
  /** Starts the calls of the transition under way. */
  #starts: (() => void)[] = [];
  /** Whether a machine inside the machine has changed since the last record. */
  #isChildNew = false;
  /** The number of transitions in this turn of the event loop. */
  #transitions = 0;
  #ended = false;
  /** The error that has ended the machine. */
  #error: unknown;

  constructor(
    turn: Turn,
    actor: Actor,
    scope: ReplayScope,
    run: MachineRun,
    end: { readonly resolve: (output: unknown) => void; readonly reject: (error: unknown) => void },
  ) {
    this.#turn = turn;
    this.actor = actor;
    this.#scope = scope;
    this.#run = run;
    this.#end = end;
    this.#steps = new StateSteps(run.chart.names);
    this.#waits = new MachineWaits(
      this,
      (values) => this.#machine.send({ ...values, type: "resume" }),
      (stateId) => this.#timers.firstEnd(leavingEvents(run.machine, stateId)),
    );
    this.#timers = new MachineTimers(this);
    this.#restored = actor.turn.journal.machines.get(scope.path);
    const kept = this.#restored?.snapshot ?? turn.memory.get();
    const passOn = actor.turn.system?.inspectorOf(actor.ref);
    this.#machine = createActor(withJournaledActors(run.machine, this), {
      clock: this.#timers,
      id: `${scope.path}/machine`,
      inspect: (event) => {
        passOn?.(event);
        this.#inspect(event);
      },
      input: run.event,
      ...(kept !== undefined && kept !== null && { snapshot: kept as unknown as Snapshot<unknown> }),
    });
    this.#timers.follow(this.#machine);
  }

  /** Whether the machine is stopped. */
  get ended(): boolean {
    return this.#ended;
  }

  start(): void {
    this.#turn.signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#machine.on("*", (emitted: EventObject) => this.#emit(emitted));
    this.#machine.subscribe({
      next: (snapshot: AnyMachineSnapshot) => this.#settle(snapshot),
      error: (error) => this.#break(error),
    });
    if (this.#restored) this.#restore(this.#restored);
    else this.#begin();
  }

  /** Takes the next position of the machine's scope for a call. */
  issue(): CallId {
    const divergence = this.#scope.advance();
    if (divergence) this.actor.turn.diverge(divergence);
    return this.#scope.callId;
  }

  /** Cancels a call of a state that the machine has left. */
  drop(callId: CallId): void {
    this.actor.turn.calls.drop(this.actor.call, callId);
  }

  afterTransition(start: () => void): void {
    if (this.#isMoving) this.#starts.push(start);
    else start();
  }

  beforeTransition(event: EventObject): void {
    this.#steps.begin(event);
    this.#unprocessed -= 1;
    this.#isMoving = true;
  }

  /** Runs a promise or another actor of the machine as a call of the turn. */
  journal({ src, self, input: given, signal, start, call }: StartedPromise): Promise<Json> {
    const { turn } = this.actor;
    const path = (toActorPath(self, this.#machine) ?? [self.id]).join("/");
    const known = this.#restoring ? this.#restored?.promises[path] : undefined;
    return new Promise((resolve, reject) => {
      const input = toJson(given ?? {}, `the input of ${src}`);
      const { effect } = this.#run;
      const make = prepareCall(this.actor, { src, input, call, start, effect });
      const begin = (): void => {
        if (signal.aborted || this.#ended) return;
        const callId = known ?? this.issue();
        this.#promises.set(path, callId);
        const giveUp = (): void => {
          if (this.#promises.get(path) !== callId) return;
          this.#promises.delete(path);
          this.drop(callId);
        };
        signal.addEventListener("abort", giveUp, { once: true });
        turn.deliveries.expect(callId, (outcome) => {
          this.#promises.delete(path);
          if (outcome.ok) resolve(outcome.value);
          else reject(toCallFailure(outcome, { agent: src, callId }));
        });
        if (!turn.journal.outcomes.has(callId)) make({ callId, logged: known !== undefined });
      };
      if (known === undefined) this.afterTransition(begin);
      else begin();
    });
  }

  #begin(): void {
    // The initial state needs no record, because the first event follows at once.
    this.#restoring = true;
    this.#machine.start();
    this.#restoring = false;
    if (this.#ended) return;
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    const { event, facts } = this.#run;
    try {
      if (snapshot.status === "active" && !startsSomething(snapshot)) checkTaken(facts, snapshot, event);
    } catch (error) {
      this.#fail(error);
      return;
    }
    // A machine that starts in a final state accepts no event.
    if (snapshot.status === "active") this.#machine.send(event);
    else this.#finish(snapshot);
    this.#openEntrance();
  }

  /** Continues from the state after the last transition, with the calls that were open then. */
  #restore({ waits, timers }: MachineState): void {
    this.#scope.skip();
    this.#restoring = true;
    this.#machine.start();
    this.#timers.restore(timers);
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    this.#waits.restore(snapshot, waits);
    this.#restoring = false;
    if (snapshot.status !== "active") this.#finish(snapshot);
    this.#openEntrance();
  }

  /** From now on operations of other requests can join the turn, if this is the machine of the requested agent. */
  #openEntrance(): void {
    if (!this.#ended && this.actor.depth === 0) this.actor.turn.entrance.open(this);
  }

  check(asked: MachineRequest, input: unknown): void {
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    checkTaken(this.#run.facts, snapshot, toOperationEvent(asked, input));
  }

  join(asked: MachineRequest, input: unknown, receive: (callId: CallId) => void): unknown {
    receive(this.issue());
    this.#machine.send(toOperationEvent(asked, input));
    return this.#error;
  }

  /** Collects the steps of the machine, and records the changes of the machines inside it. */
  #inspect(event: InspectionEvent): void {
    const isRoot = event.rootId === (event.actorRef as AnyActorRef).sessionId;
    if (event.type === "@xstate.event") {
      if (isRoot && event.event.type !== INIT) this.#unprocessed += 1;
    } else if (event.type === "@xstate.microstep") {
      const { _transitions: transitions } = event;
      if (isRoot) this.#steps.add(event.event, transitions);
      else this.#isChildNew ||= transitions.length > 0;
    } else if (event.type === "@xstate.snapshot" && !isRoot && this.#isChildNew && !this.#isMoving) {
      this.#settle(this.#machine.getSnapshot() as AnyMachineSnapshot);
    }
  }

  /** Logs what the machine emits. XState would throw an error of this function in the process. */
  #emit({ type, ...fields }: EventObject & { readonly content?: unknown }): void {
    if (this.#ended || this.actor.turn.ended) return;
    try {
      if (type === "TextOutput") {
        void this.#turn.text(String(fields.content));
        return;
      }
      checkName(type, "the type of an emitted event");
      const body = toJson(fields, `the emitted event ${type}`);
      this.actor.turn.recorder.event(this.actor.speaker, { type: "Custom", name: type, body });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** After a transition: opens and closes calls, and records the state. */
  #settle(snapshot: AnyMachineSnapshot): void {
    if (this.#ended || this.#restoring || this.actor.turn.ended) return;
    if (!this.#isPaced()) {
      this.#fail(new Error(`the machine made ${TRANSITIONS_AT_ONCE} transitions without a pause`));
      return;
    }
    try {
      this.#isMoving = false;
      this.#show(snapshot, snapshot.status === "done" ? "done" : "active");
      for (const start of this.#starts.splice(0)) start();
      if (this.#hasEnded()) return;
      this.#waits.follow(snapshot);
      this.#record();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (snapshot.status !== "active" || this.#rests(snapshot)) this.#finish(snapshot);
  }

  /** Whether the machine or its turn has ended; what a settlement starts can end both. */
  #hasEnded(): boolean {
    return this.#ended || this.actor.turn.ended;
  }

  /** Logs the transitions that the machine took for its last event. */
  #show({ value }: AnyMachineSnapshot, status: MachineStatus): void {
    const taken = this.#steps.take(status);
    if (taken === undefined) return;
    const { actor } = this;
    const { hash: chart } = this.#run.chart.statechart;
    const { cause, ...steps } = taken;
    const body = { type: "StateChanged", value: value as Json, cause, ...steps, status, chart } as const;
    actor.turn.recorder.event(actor.speaker, body);
  }

  /**
   * Whether the machine's transitions leave time for other code; one that endlessly sends to itself does not.
   */
  #isPaced(): boolean {
    if (this.#transitions === 0) {
      this.actor.turn.context.environment.macrotask(() => {
        this.#transitions = 0;
      });
    }
    this.#transitions += 1;
    return this.#transitions <= TRANSITIONS_AT_ONCE;
  }

  #record(): void {
    const state: MachineState = {
      snapshot: toJson(this.#machine.getPersistedSnapshot(), "the state of the machine", STATE_LIMIT_BYTES),
      waits: this.#waits.kept,
      timers: this.#timers.kept,
      promises: Object.fromEntries(this.#promises),
    };
    this.#isChildNew = false;
    this.actor.turn.recorder.record({ type: "MachineState", scope: this.#scope.path, state });
  }

  #rests(snapshot: AnyMachineSnapshot): boolean {
    if (this.#unprocessed > 0) return false;
    if (this.#waits.size > 0 || this.#timers.size > 0 || this.#promises.size > 0) return false;
    return Object.values(snapshot.children as { readonly [id: string]: AnyActorRef }).every(
      (child) => (child.getSnapshot() as Snapshot<unknown>).status !== "active",
    );
  }

  #finish(snapshot: AnyMachineSnapshot): void {
    const done = snapshot.status !== "active";
    try {
      const { output } = this.#run;
      const result: unknown = output ? output(snapshot) : snapshot.output;
      // A machine that is done starts again in the next turn; otherwise the next turn continues from this
      // state.
      if (!done) this.#turn.memory.set(this.#machine.getPersistedSnapshot() as unknown as Json);
      else if (this.#turn.memory.get() !== undefined) this.#turn.memory.set(null);
      this.#stop();
      this.#end.resolve(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the machine with an error of its own code. */
  #break(error: unknown): void {
    if (!this.#ended && !this.actor.turn.ended)
      this.#show(this.#machine.getSnapshot() as AnyMachineSnapshot, "error");
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#error = error;
    this.#stop();
    this.#end.reject(error);
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#starts = [];
    this.#machine.stop();
  }
}
