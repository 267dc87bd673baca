import type {
  Actor as MachineRef,
  ActorRefLike,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  AnyStateNode,
  EventObject,
  InspectionEvent,
  Snapshot,
} from "xstate";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { unsettled } from "../../shared/deferred.ts";
import type { Actor } from "../actor/actor.ts";
import { TurnHandle } from "../actor/turn-handle.ts";
import type { MachineRequest, OpenMachine } from "../agent/machine-port.ts";
import type { Turn } from "../agent/turn-api.ts";
import { toJson } from "../journal/json-limits.ts";
import { copyPlain } from "../journal/plain-copy.ts";
import type { MachineState } from "../journal/records.ts";
import type { ReplayScope } from "../replay/scope.ts";
import { machineTree, stopActor } from "../system/actor-system.ts";
import type { ActorTree } from "../system/actor-system.ts";
import { toActorPath } from "./calls/actor-path.ts";
import type { MachineCalls } from "./calls/machine-calls.ts";
import { MachinePromises } from "./calls/promises.ts";
import { MachineTimers } from "./calls/timers.ts";
import { MachineWaits } from "./calls/waits.ts";
import type { ChildChange, LogicHost, StartedPromise } from "./journaled-logic.ts";
import { MachineEvents } from "./machine-events.ts";
import { toMessageEvent, toOperationEvent } from "./machine-input.ts";
import type { MachineEvent, MachineRun } from "./machine-input.ts";
import { STATE_LIMIT_BYTES, fromKept, toFitting, toKept } from "./stored-state.ts";
import { checkTaken, hasActiveChild, startsSomething, takes } from "./takes.ts";
import { Transitions } from "./transitions.ts";

/** Runs a machine until it is done or nothing is running in it; resolves with its output. */
export function runMachine(turn: Turn, run: MachineRun): Promise<unknown> {
  const { actor, scope } = TurnHandle.place(turn);
  const { scopes, agentVersion } = actor.turn.journal;
  const logged = scopes.get(scope.path)?.machine;
  const kept = logged === undefined ? fromKept(turn.memory.get()) : undefined;
  const before = actor.depth === 0 && logged ? agentVersion : undefined;
  const stored = logged ?? kept;
  const fitting = stored && toFitting(run, { ...(before !== undefined && { version: before }), ...stored });
  if (fitting?.misfit) {
    actor.turn.hold({ ...fitting.misfit, scope: scope.path });
    return actor.turn.over();
  }
  if (actor.depth === 0) actor.turn.replay.began();
  if (actor.turn.isRehearsed) return unsettled();
  return new Promise((resolve, reject) => {
    const from = { restored: logged && fitting?.state, kept: kept && fitting?.state.snapshot };
    new MachineActor(turn, actor, scope, { ...run, ...from }, { resolve, reject }).start();
  });
}

/** A machine to run, and where it continues. */
interface ContinuedRun extends MachineRun {
  /** The state that the turn has logged. */
  readonly restored: MachineState | undefined;
  /** The state that the turn before has left. */
  readonly kept: Json | undefined;
}

/** The event that starts a machine; it is no transition. */
const INIT = "xstate.init";

/** Receives the output of a machine, or its error. */
interface MachineEnd {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A running machine, whose waits, delays and promises are calls of its turn. */
class MachineActor implements MachineCalls, LogicHost, OpenMachine {
  readonly actor: Actor;
  readonly #turn: Turn;
  readonly #scope: ReplayScope;
  readonly #run: ContinuedRun;
  readonly #end: MachineEnd;
  readonly #waits: MachineWaits;
  readonly #timers: MachineTimers;
  readonly #promises: MachinePromises;
  readonly #events: MachineEvents;
  readonly #transitions: Transitions;
  readonly #restored: MachineState | undefined;
  readonly #machine: MachineRef<AnyStateMachine>;
  readonly #tree: ActorTree;
  /** The machine, as it was announced: it makes its first steps before its constructor ends. */
  #first: ActorRefLike | undefined;
  #restoring = false;
  /** The newest event that the machine has processed. */
  #event: EventObject | undefined;
  /** Whether a machine inside the machine has changed since the last record. */
  #isChildNew = false;
  #ended = false;
  /** The error that has ended the machine. */
  #error: unknown;

  constructor(turn: Turn, actor: Actor, scope: ReplayScope, run: ContinuedRun, end: MachineEnd) {
    this.#turn = turn;
    this.actor = actor;
    this.#scope = scope;
    this.#run = run;
    this.#end = end;
    this.#events = new MachineEvents(turn, actor, run.charts);
    this.#transitions = new Transitions(actor.turn.context.environment);
    this.#waits = new MachineWaits(this, (values) => this.#machine.send({ ...values, type: "resume" }), {
      endOf: (stateId) => this.#timers.firstEnd(leavingEvents(run.machine, stateId)),
      endPast: () => this.#timers.endPast(),
    });
    this.#timers = new MachineTimers(this);
    this.#promises = new MachinePromises(this, run.effect);
    this.#restored = run.restored;
    const kept = run.restored?.snapshot ?? run.kept;
    this.#machine = run.journaled.create(this, {
      parent: actor.node.ref,
      scheduler: this.#timers,
      id: `${scope.path}/machine`,
      src: actor.agent.name,
      inspect: (event) => this.#inspect(event),
      input: run.event,
      ...(kept !== undefined && { snapshot: kept as unknown as Snapshot<unknown> }),
    });
    this.#timers.follow(this.#machine);
    this.#tree = machineTree(this.#machine);
    actor.node.started(this.#tree);
  }

  get isRehearsed(): boolean {
    return this.actor.turn.context.isRehearsal;
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
    this.#transitions.after(start);
  }

  beforeTransition(event: EventObject): void {
    this.#event = event;
    this.#events.begin(event);
    this.#transitions.begin();
  }

  childChanged(change: ChildChange): void {
    const path = toActorPath(change.self, this.#machine);
    if (path !== undefined && !this.#hasEnded()) this.#events.childChanged(change, path);
  }

  /** Runs a promise or another actor of the machine as a call of the turn. */
  journal(promise: StartedPromise): Promise<Json> {
    const path = (toActorPath(promise.self, this.#machine) ?? [promise.self.id]).join("/");
    const known = this.#restoring ? this.#restored?.promises[path] : undefined;
    return this.#promises.run(promise, path, known);
  }

  #begin(): void {
    // The initial state is not recorded, because the state after the first event is recorded at once.
    this.#restoring = true;
    this.#machine.start();
    this.#restoring = false;
    if (this.#ended) return;
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    this.#events.known(snapshot);
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
    this.#takeOperations();
  }

  /** Continues from the state after the last transition, with the calls that were open then. */
  #restore({ waits, timers }: MachineState): void {
    this.#scope.skip();
    this.#restoring = true;
    this.#machine.start();
    this.#timers.restore(timers);
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    this.#events.known(snapshot);
    this.#waits.restore(snapshot, waits);
    this.#restoring = false;
    if (snapshot.status === "active") this.#takeMessage(snapshot);
    else this.#finish(snapshot);
    this.#takeOperations();
  }

  /** From now on operations of other requests can join the turn, if this is the machine of the requested agent. */
  #takeOperations(): void {
    if (!this.#ended && this.actor.depth === 0) this.actor.turn.machine.resolve(this);
  }

  check(asked: MachineRequest, input: unknown): void {
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    checkTaken(this.#run.facts, snapshot, toOperationEvent(asked, input));
  }

  join(asked: MachineRequest, input: unknown, receive: (callId: CallId) => void): unknown {
    receive(this.issue());
    this.#transitions.given();
    this.#machine.send(toOperationEvent(asked, input));
    return this.#error;
  }

  takes(name: string, body: Json): boolean {
    return (
      this.#messageEvent({ name, body }, this.#machine.getSnapshot() as AnyMachineSnapshot) !== undefined
    );
  }

  takeMessages(): void {
    if (!this.#hasEnded() && !this.#transitions.isUnderWay)
      this.#takeMessage(this.#machine.getSnapshot() as AnyMachineSnapshot);
  }

  /**
   * Gives the machine the oldest unread message that it takes, unless it has events to process; the transition for it takes the
   * next one. Returns whether there was one.
   */
  #takeMessage(snapshot: AnyMachineSnapshot): boolean {
    const { turn, depth } = this.actor;
    if (depth > 0 || this.#transitions.hasMore) return false;
    let event: MachineEvent | undefined;
    const message = turn.inbox.find((unread) => {
      event = this.#messageEvent(unread, snapshot);
      return event !== undefined;
    });
    if (message === undefined || event === undefined) return false;
    turn.inbox.remove(message);
    turn.listener.received({ call_id: this.issue(), name: message.name, ids: [message.id] });
    this.#transitions.given();
    this.#machine.send(event);
    return true;
  }

  /** The event that a message becomes, if the machine takes it in this state. One whose body no longer fits stays unread. */
  #messageEvent(
    message: { readonly name: string; readonly body: Json },
    snapshot: AnyMachineSnapshot,
  ): MachineEvent | undefined {
    const { messages = {} } = this.actor.agent;
    const schema = Object.hasOwn(messages, message.name) ? messages[message.name] : undefined;
    if (schema === undefined) return undefined;
    try {
      const event = toMessageEvent(schema, message, this.#turn);
      return takes(snapshot, event) ? event : undefined;
    } catch {
      return undefined;
    }
  }

  /** Collects the steps of the machine, and records the changes of the machines inside it. */
  #inspect(event: InspectionEvent): void {
    const { actorRef: seen } = event;
    if (event.type === "@xstate.actor") this.#first ??= seen;
    const isRoot = seen === this.#first;
    if (event.type === "@xstate.event") {
      if (isRoot && event.event.type !== INIT) this.#transitions.sent();
      if (isRoot && isValueOf(event.sourceRef, seen, event.event)) this.#events.given(event.event);
    } else if (event.type === "@xstate.microstep") {
      const { _transitions: transitions } = event;
      if (isRoot) {
        this.#events.step(event.event, transitions);
      } else if (transitions.length > 0) {
        this.#isChildNew = true;
        if (event.event.type !== INIT)
          this.#events.childStep(event.actorRef as AnyActorRef, event.event, transitions);
      }
    } else if (
      event.type === "@xstate.snapshot" &&
      !isRoot &&
      this.#isChildNew &&
      !this.#transitions.isUnderWay
    ) {
      this.#settle(this.#machine.getSnapshot() as AnyMachineSnapshot);
    }
  }

  /** Logs what the machine emits. XState would throw an error of this function in the process. */
  #emit(emitted: EventObject): void {
    if (this.#hasEnded()) return;
    try {
      this.#events.emitted(emitted);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** After a transition: opens and closes calls, and records the state. */
  #settle(snapshot: AnyMachineSnapshot): void {
    if (this.#restoring || this.#hasEnded()) return;
    try {
      this.#transitions.end();
      this.#events.changed(snapshot, snapshot.status === "done" ? "done" : "active");
      this.#transitions.start();
      if (this.#hasEnded()) return;
      this.#waits.follow(snapshot, this.#event);
      this.#record();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (snapshot.status === "active" && this.#takeMessage(snapshot)) return;
    if (snapshot.status !== "active" || this.#hasNothingOpen(snapshot)) this.#finish(snapshot);
  }

  /** Whether the machine or its turn has ended. Calls that are started after a transition can end both. */
  #hasEnded(): boolean {
    return this.#ended || this.actor.turn.ended;
  }

  #record(): void {
    const snapshot = this.#machine.getPersistedSnapshot();
    const state: MachineState = {
      snapshot:
        copyPlain(snapshot, STATE_LIMIT_BYTES) ??
        toJson(snapshot, "the state of the machine", STATE_LIMIT_BYTES),
      waits: this.#waits.kept,
      timers: this.#timers.kept,
      promises: this.#promises.kept,
      shape: this.#run.shape,
      ...(this.#run.version !== undefined && { version: this.#run.version }),
    };
    this.#isChildNew = false;
    this.actor.turn.recorder.record({ type: "MachineState", scope: this.#scope.path, state });
    if (this.actor.depth === 0) this.actor.turn.machineState = state;
  }

  #hasNothingOpen(snapshot: AnyMachineSnapshot): boolean {
    if (this.#transitions.hasMore) return false;
    if (this.#waits.size > 0 || this.#timers.size > 0 || this.#promises.size > 0) return false;
    return !hasActiveChild(snapshot);
  }

  #finish(snapshot: AnyMachineSnapshot): void {
    const done = snapshot.status !== "active";
    try {
      const { output } = this.#run;
      const result: unknown = output ? output(snapshot) : snapshot.output;
      // A machine that is done starts again in the next turn; otherwise the next turn continues from this
      // state.
      if (!done) this.#turn.memory.set(toKept(this.#machine.getPersistedSnapshot(), this.#run));
      else if (this.#turn.memory.get() !== undefined) this.#turn.memory.set(null);
      this.#stop();
      this.#end.resolve(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the machine with an error of its own code. */
  #break(error: unknown): void {
    if (!this.#hasEnded()) this.#events.changed(this.#machine.getSnapshot() as AnyMachineSnapshot, "error");
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
    this.#transitions.stop();
    this.actor.node.ended(this.#tree);
    stopActor(this.#machine);
  }
}

/** Whether an event is a value that a callback or an observable of the machine gives, and not the end of an actor. */
function isValueOf(
  source: ActorRefLike | undefined,
  machine: ActorRefLike,
  { type }: EventObject,
): source is ActorRefLike {
  if (source === undefined || source === machine || /^xstate\.(?:done|error)\./.test(type)) return false;
  const snapshot: unknown = source.getSnapshot();
  return typeof snapshot === "object" && snapshot !== null && !("machine" in snapshot);
}

/**
 * The events of the delays after which a machine certainly leaves a state: delays of the state and of those above it,
 * without a guard and with a target outside.
 */
function leavingEvents(machine: AnyStateMachine, stateId: string): ReadonlySet<string> {
  const state = machine.getStateNodeById(stateId);
  const events = new Set<string>();
  for (let node: AnyStateNode | undefined = state; node !== undefined; node = node.parent) {
    for (const { eventType, guard, reenter, target = [] } of node.after) {
      const isLeft = reenter || target.some((to) => node !== state || !isWithin(to as AnyStateNode, state));
      if (guard === undefined && target.length > 0 && isLeft) events.add(eventType);
    }
  }
  return events;
}

function isWithin(node: AnyStateNode, above: AnyStateNode): boolean {
  for (let at: AnyStateNode | undefined = node; at !== undefined; at = at.parent)
    if (at === above) return true;
  return false;
}
