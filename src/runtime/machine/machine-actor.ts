import { createActor } from "xstate";
import type { AnyActorRef, AnyMachineSnapshot, AnyStateMachine, EventObject, Snapshot } from "xstate";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "../actor/actor.ts";
import type { Effect } from "../agent/agent.ts";
import { toCallFailure } from "../actor/call-failure.ts";
import { performEffect } from "../actor/call.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { withJournaledPromises } from "./promises.ts";
import type { StartedPromise } from "./promises.ts";
import { MachineWaits } from "./waits.ts";
import { MachineTimers } from "./timers.ts";
import type { MachineState } from "../journal/records.ts";
import type { ReplayScope } from "../replay/scope.ts";
import { toJson } from "../journal/json-limits.ts";
import type { Turn } from "../agent/turn-api.ts";
import { TurnHandle } from "../actor/turn-handle.ts";

/** The machine to run and its first event. */
export interface MachineRun {
  readonly machine: AnyStateMachine;
  readonly effect: Effect;
  readonly event: EventObject;
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

/** A machine with more transitions in one turn of the event loop counts as an endless loop. */
const TRANSITIONS_AT_ONCE = 1_000;

/** A running machine, whose waits, delays and promises are calls of its turn. */
class MachineActor implements MachineCalls {
  readonly actor: Actor;
  readonly #turn: Turn;
  readonly #scope: ReplayScope;
  readonly #run: MachineRun;
  readonly #end: { readonly resolve: (output: unknown) => void; readonly reject: (error: unknown) => void };
  readonly #waits: MachineWaits;
  readonly #timers: MachineTimers;
  /** The running promises by the id of their child actor. */
  readonly #promises = new Map<string, CallId>();
  readonly #restored: MachineState | undefined;
  readonly #machine: ReturnType<typeof createActor<AnyStateMachine>>;
  #restoring = false;
  /** The number of transitions in this turn of the event loop. */
  #transitions = 0;
  #ended = false;

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
    this.#waits = new MachineWaits(this, (values) => {
      this.#machine.send({ ...values, type: "resume" });
    });
    this.#timers = new MachineTimers(this, () => this.#machine.system);
    this.#restored = actor.turn.journal.machines.get(scope.path);
    const kept = this.#restored?.snapshot ?? turn.memory.get();
    const machine = withJournaledPromises(run.machine, (promise) => this.#journal(promise));
    this.#machine = createActor(machine, {
      clock: this.#timers,
      input: run.event,
      ...(kept !== undefined && kept !== null && { snapshot: kept as unknown as Snapshot<unknown> }),
    });
  }

  /** Whether the machine is stopped. */
  get ended(): boolean {
    return this.#ended;
  }

  start(): void {
    this.#turn.signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#machine.on("*", (emitted: EventObject & { readonly content?: unknown }) => {
      if (emitted.type === "TextOutput") void this.#turn.text(String(emitted.content));
    });
    this.#machine.subscribe({
      next: (snapshot: AnyMachineSnapshot) => this.#settle(snapshot),
      error: (error) => this.#fail(error),
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

  #begin(): void {
    // The initial state needs no record, because the first event follows at once.
    this.#restoring = true;
    this.#machine.start();
    this.#restoring = false;
    if (this.#ended) return;
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    // A machine that starts in a final state accepts no event.
    if (snapshot.status === "active") this.#machine.send(this.#run.event);
    else this.#finish(snapshot);
  }

  /** Continues from the state after the last transition, with the calls that were open then. */
  #restore({ waits, timers }: MachineState): void {
    this.#scope.skip();
    this.#restoring = true;
    this.#machine.start();
    this.#timers.restore(this.#machine, timers);
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    this.#waits.restore(snapshot, waits);
    this.#restoring = false;
    if (snapshot.status !== "active") this.#finish(snapshot);
  }

  /** After a transition: opens and closes calls, and records the state. */
  #settle(snapshot: AnyMachineSnapshot): void {
    if (this.#ended || this.#restoring || this.actor.turn.ended) return;
    if (!this.#isPaced()) {
      this.#fail(new Error(`the machine made ${TRANSITIONS_AT_ONCE} transitions without a pause`));
      return;
    }
    try {
      this.#waits.follow(snapshot);
      this.#record();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (snapshot.status !== "active" || this.#rests(snapshot)) this.#finish(snapshot);
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
    this.actor.turn.recorder.record({ type: "MachineState", scope: this.#scope.path, state });
  }

  #rests(snapshot: AnyMachineSnapshot): boolean {
    if (this.#waits.size > 0 || this.#timers.size > 0 || this.#promises.size > 0) return false;
    return Object.values(snapshot.children as { readonly [id: string]: AnyActorRef }).every(
      (child) => (child.getSnapshot() as Snapshot<unknown>).status !== "active",
    );
  }

  #finish(snapshot: AnyMachineSnapshot): void {
    const done = snapshot.status !== "active";
    // A machine that is done starts again in the next turn; otherwise the next turn continues from this
    // state.
    if (!done) this.#turn.memory.set(this.#machine.getPersistedSnapshot() as unknown as Json);
    else if (this.#turn.memory.get() !== undefined) this.#turn.memory.set(null);
    this.#stop();
    this.#end.resolve(snapshot.output as unknown);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#stop();
    this.#end.reject(error);
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#machine.stop();
  }

  /** Runs a promise of the machine as an effect of the turn. */
  #journal({ src, childId, input, signal, start }: StartedPromise): Promise<Json> {
    const { turn } = this.actor;
    const known = this.#restoring ? this.#restored?.promises[childId] : undefined;
    const callId = known ?? this.issue();
    this.#promises.set(childId, callId);
    const giveUp = (): void => {
      if (this.#promises.delete(childId)) this.drop(callId);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    return new Promise((resolve, reject) => {
      turn.deliveries.expect(callId, (outcome) => {
        this.#promises.delete(childId);
        if (outcome.ok) resolve(outcome.value);
        else reject(toCallFailure(outcome, { agent: src, callId }));
      });
      if (turn.journal.outcomes.has(callId)) return;
      const args = toJson(input ?? {}, "the input");
      const { effect } = this.#run;
      const logged = known !== undefined;
      void performEffect(this.actor, {
        callId,
        name: src,
        args,
        logged,
        effect,
        perform: start,
        timeoutMs: undefined,
      });
    });
  }
}
