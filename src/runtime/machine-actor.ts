import { createActor } from "xstate";
import type {
  ActorOptions,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  Snapshot,
} from "xstate";
import type { CallId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Actor } from "./actor.ts";
import type { Effect, Schema } from "./agent.ts";
import { performEffect } from "./call.ts";
import { withJournaledPromises } from "./machine-promises.ts";
import type { StartedPromise } from "./machine-promises.ts";
import type { MachineState, MachineTimer } from "./records.ts";
import { toJsonSchema } from "./schema.ts";
import type { Scope } from "./scope.ts";
import { sleep } from "./sleep.ts";
import { toJson } from "./to-json.ts";
import type { Turn } from "./turn-api.ts";
import { TurnHandle } from "./turn-handle.ts";
import { wait } from "./wait.ts";

/** Which machine to run, and what it is told first. */
export interface MachineRun {
  readonly machine: AnyStateMachine;
  readonly effect: Effect;
  readonly event: EventObject;
}

/** Runs a machine until it is done, or rests with nothing under way; resolves with its output. */
export function runMachine(turn: Turn, run: MachineRun): Promise<unknown> {
  const { actor, scope } = TurnHandle.place(turn);
  return new Promise((resolve, reject) => {
    new MachineActor(turn, actor, scope, run, { resolve, reject }).start();
  });
}

/** Keeps a machine's state after a transition small enough for one record. */
const STATE_LIMIT_BYTES = 1_048_576;

/** A machine that makes more transitions in one turn of the event loop is taken to go round for ever. */
const TRANSITIONS_AT_ONCE = 1_000;

/** A running machine, whose waits, delays and promises are calls of its turn. */
class MachineActor {
  readonly #turn: Turn;
  readonly #actor: Actor;
  readonly #scope: Scope;
  readonly #run: MachineRun;
  readonly #end: { readonly resolve: (output: unknown) => void; readonly reject: (error: unknown) => void };
  /** The open waits by the id of their state. */
  readonly #waits = new Map<string, CallId>();
  readonly #timers = new Map<CallId, MachineTimer>();
  /** The promises under way by the id of their child actor. */
  readonly #promises = new Map<string, CallId>();
  readonly #restored: MachineState | undefined;
  readonly #machine: ReturnType<typeof createActor<AnyStateMachine>>;
  /** The call that the next timer belongs to, when it is one from before. */
  #adopted: CallId | undefined;
  #restoring = false;
  /** How many transitions there were in this turn of the event loop. */
  #transitions = 0;
  #ended = false;

  constructor(
    turn: Turn,
    actor: Actor,
    scope: Scope,
    run: MachineRun,
    end: { readonly resolve: (output: unknown) => void; readonly reject: (error: unknown) => void },
  ) {
    this.#turn = turn;
    this.#actor = actor;
    this.#scope = scope;
    this.#run = run;
    this.#end = end;
    this.#restored = actor.turn.options.journal.machines.get(scope.path);
    const kept = this.#restored?.snapshot ?? turn.memory.get();
    const machine = withJournaledPromises(run.machine, (promise) => this.#journal(promise));
    this.#machine = createActor(machine, {
      clock: this.#clock(),
      input: run.event,
      ...(kept !== undefined && kept !== null && { snapshot: kept as unknown as Snapshot<unknown> }),
    });
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

  #begin(): void {
    // The state it starts in is not worth a record: the event that follows leads on from it.
    this.#restoring = true;
    this.#machine.start();
    this.#restoring = false;
    if (!this.#ended) this.#machine.send(this.#run.event);
  }

  /** Goes on from the state after the last transition, with the calls that were open then. */
  #restore({ waits, timers }: MachineState): void {
    this.#scope.skip();
    this.#restoring = true;
    this.#machine.start();
    for (const { callId, event, ms, id } of timers) {
      this.#adopted = callId;
      this.#machine.system.scheduler.schedule(this.#machine, this.#machine, event as EventObject, ms, id);
    }
    this.#adopted = undefined;
    const snapshot = this.#machine.getSnapshot() as AnyMachineSnapshot;
    for (const [stateId, callId] of Object.entries(waits))
      this.#ask(stateId, questionOf(snapshot, stateId), callId);
    this.#restoring = false;
    if (snapshot.status !== "active") this.#finish(snapshot);
  }

  /** After a transition: opens and closes what it asks for, and writes its state down. */
  #settle(snapshot: AnyMachineSnapshot): void {
    if (this.#ended || this.#restoring || this.#actor.turn.ended) return;
    if (!this.#isPaced()) {
      this.#fail(new Error(`the machine made ${TRANSITIONS_AT_ONCE} transitions without a pause`));
      return;
    }
    const asked = snapshot.status === "active" && snapshot.hasTag("wait") ? questionsOf(snapshot) : new Map();
    for (const [stateId, callId] of this.#waits)
      if (!asked.has(stateId)) this.#drop(this.#waits, stateId, callId);
    for (const [stateId, question] of asked) if (!this.#waits.has(stateId)) this.#ask(stateId, question);
    try {
      this.#record();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (snapshot.status !== "active" || this.#rests(snapshot)) this.#finish(snapshot);
  }

  /** Whether the machine lets others come in between: one that sends to itself without an end does not. */
  #isPaced(): boolean {
    if (this.#transitions === 0) {
      this.#actor.turn.options.environment.macrotask(() => {
        this.#transitions = 0;
      });
    }
    this.#transitions += 1;
    return this.#transitions <= TRANSITIONS_AT_ONCE;
  }

  #record(): void {
    const state: MachineState = {
      snapshot: toJson(this.#machine.getPersistedSnapshot(), "the state of the machine", STATE_LIMIT_BYTES),
      waits: Object.fromEntries(this.#waits),
      timers: [...this.#timers.values()],
      promises: Object.fromEntries(this.#promises),
    };
    this.#actor.turn.options.recorder.record({ type: "MachineState", scope: this.#scope.path, state });
  }

  #rests(snapshot: AnyMachineSnapshot): boolean {
    if (this.#waits.size > 0 || this.#timers.size > 0 || this.#promises.size > 0) return false;
    return Object.values(snapshot.children as { readonly [id: string]: AnyActorRef }).every(
      (child) => (child.getSnapshot() as Snapshot<unknown>).status !== "active",
    );
  }

  #finish(snapshot: AnyMachineSnapshot): void {
    const done = snapshot.status !== "active";
    // What is done starts anew with the next turn; what rests goes on from here.
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

  #ask(stateId: string, { request_keys: questions, schema }: Question, known?: CallId): void {
    const callId = known ?? this.#issue();
    const { turn } = this.#actor;
    this.#waits.set(stateId, callId);
    turn.deliveries.expect(callId, (outcome) => {
      this.#waits.delete(stateId);
      if (outcome.ok && !this.#ended)
        this.#machine.send({ ...(outcome.value as JsonObject), type: "resume" });
    });
    if (turn.options.journal.outcomes.has(callId)) return;
    const jsonSchema = schema && toJsonSchema(schema, "input");
    wait(this.#actor, {
      callId,
      logged: known !== undefined,
      questions,
      schema,
      ...(jsonSchema && { jsonSchema }),
    });
  }

  /** Delays are sleeps of the turn, and go on where they were. */
  #clock(): NonNullable<ActorOptions<AnyStateMachine>["clock"]> {
    return {
      setTimeout: (fire: () => void, ms: number): CallId => {
        const known = this.#adopted;
        const callId = known ?? this.#issue();
        const { turn } = this.#actor;
        this.#timers.set(callId, { callId, ms, ...this.#newestSchedule() });
        turn.deliveries.expect(callId, (outcome) => {
          this.#timers.delete(callId);
          if (outcome.ok && !this.#ended) fire();
        });
        if (!turn.options.journal.outcomes.has(callId))
          sleep(this.#actor, { callId, logged: known !== undefined }, ms);
        return callId;
      },
      clearTimeout: (callId: CallId): void => this.#drop(this.#timers, callId, callId),
    };
  }

  /** What XState has just noted down to do later: only there can it be found by what sets a timer. */
  #newestSchedule(): { readonly id: string; readonly event: JsonObject } {
    const { _scheduledEvents: scheduled } = this.#machine.system.getSnapshot();
    const newest = Object.values(scheduled).at(-1);
    return { id: newest?.id ?? "", event: toJson(newest?.event ?? {}, "a delayed event") as JsonObject };
  }

  /** Makes a promise of the machine an effect of the turn. */
  #journal({ src, childId, input, signal, start }: StartedPromise): Promise<Json> {
    const { turn } = this.#actor;
    const known = this.#restoring ? this.#restored?.promises[childId] : undefined;
    const callId = known ?? this.#issue();
    this.#promises.set(childId, callId);
    signal.addEventListener("abort", () => this.#drop(this.#promises, childId, callId), { once: true });
    return new Promise((resolve, reject) => {
      turn.deliveries.expect(callId, (outcome) => {
        this.#promises.delete(childId);
        if (outcome.ok) resolve(outcome.value);
        else reject(new Error(outcome.message));
      });
      if (turn.options.journal.outcomes.has(callId)) return;
      const call = { callId, name: src, args: toJson(input ?? {}, "the input"), logged: known !== undefined };
      void performEffect(this.#actor, call, this.#run.effect, start);
    });
  }

  #issue(): CallId {
    const divergence = this.#scope.advance();
    if (divergence) this.#actor.turn.diverge(divergence);
    return this.#scope.callId;
  }

  /** Gives up a call that the machine has left behind. */
  #drop<Key>(open: Map<Key, unknown>, key: Key, callId: CallId): void {
    if (!open.delete(key)) return;
    this.#actor.turn.calls.drop(callId);
  }
}

interface Question {
  readonly request_keys: { readonly [key: string]: string };
  readonly schema?: Schema<unknown>;
}

function questionsOf(snapshot: AnyMachineSnapshot): Map<string, Question> {
  const metas = Object.entries(
    snapshot.getMeta() as { readonly [stateId: string]: Partial<Question> | undefined },
  );
  return new Map(metas.filter((entry): entry is [string, Question] => entry[1]?.request_keys !== undefined));
}

function questionOf(snapshot: AnyMachineSnapshot, stateId: string): Question {
  return questionsOf(snapshot).get(stateId) ?? { request_keys: {} };
}
