import type { AnyMachineSnapshot } from "xstate";
import type { CallId } from "../../../protocol/ids.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Schema } from "../../agent/agent.ts";
import { NO_CALLS } from "./machine-calls.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { checkQuestions, expirePast, wait } from "../../actor/waits.ts";
import { toJsonSchema } from "../../agent/definition/schema.ts";

/** The waits of a machine: one wait of the turn for each active state with questions. */
export class MachineWaits {
  readonly #calls: MachineCalls;
  readonly #answered: (values: JsonObject) => void;
  readonly #delays: StateDelays;
  /** The open waits by the id of their state. */
  readonly #open = new Map<string, CallId>();

  /** `answered` is called with each answer. */
  constructor(calls: MachineCalls, answered: (values: JsonObject) => void, delays: StateDelays) {
    this.#calls = calls;
    this.#answered = answered;
    this.#delays = delays;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The open waits, for the record. */
  get kept(): { readonly [stateId: string]: CallId } {
    return this.#open.size === 0 ? NO_CALLS : Object.fromEntries(this.#open);
  }

  /** Opens the waits of new states and cancels those of states that were left. */
  follow(snapshot: AnyMachineSnapshot): void {
    const isAsking = snapshot.status === "active" && snapshot.hasTag("wait");
    const asked = isAsking ? questionsIn(snapshot) : NONE;
    for (const [stateId, callId] of this.#open) {
      if (asked.has(stateId)) continue;
      this.#open.delete(stateId);
      this.#close(callId);
    }
    for (const [stateId, question] of asked)
      if (!this.#open.has(stateId)) this.#ask(stateId, question, undefined);
  }

  /** Restores the open waits. */
  restore(snapshot: AnyMachineSnapshot, waits: { readonly [stateId: string]: CallId }): void {
    const asked = questionsIn(snapshot);
    for (const [stateId, callId] of Object.entries(waits))
      this.#ask(stateId, asked.get(stateId) ?? { request_keys: {} }, callId);
  }

  #ask(stateId: string, { request_keys: questions, schema }: StateWait, known: CallId | undefined): void {
    const { actor } = this.#calls;
    const jsonSchema = schema && toJsonSchema(schema, "input");
    checkQuestions(questions, jsonSchema);
    const callId = known ?? this.#calls.issue();
    this.#open.set(stateId, callId);
    actor.turn.deliveries.expect(callId, (outcome) => {
      // The state may have been left and entered again, which has made another call.
      if (this.#open.get(stateId) === callId) this.#open.delete(stateId);
      if (outcome.ok && outcome.value !== null && !this.#calls.ended && !actor.turn.isRehearsed)
        this.#answered(outcome.value as JsonObject);
    });
    if (actor.turn.journal.calls.get(callId)?.outcome) return;
    const isNew = known === undefined;
    wait(actor, {
      callId,
      logged: !isNew,
      questions,
      schema,
      ...(jsonSchema && { jsonSchema }),
      ...(isNew && { expiresAt: this.#delays.endOf(stateId) }),
      // The delay of the machine ends the wait.
      expire: () => this.#delays.endPast(),
    });
  }

  /** Cancels the wait of a state that was left. If a delay has left the state, the wait ends as expired instead. */
  #close(callId: CallId): void {
    if (!expirePast(this.#calls.actor, callId)) this.#calls.drop(callId);
  }
}

/** The delays of the machine. */
export interface StateDelays {
  /** When a delay leaves a state, in milliseconds since 1970. */
  endOf(stateId: string): number | undefined;
  /** Ends the delays whose time has passed. */
  endPast(): void;
}

/** The questions in a state's `meta`. */
interface StateWait {
  readonly request_keys: { readonly [key: string]: string };
  readonly schema?: Schema<unknown>;
}

const NONE: ReadonlyMap<string, StateWait> = new Map();

/** The questions of the states that a machine is in. */
export function questionsIn(snapshot: AnyMachineSnapshot): ReadonlyMap<string, StateWait> {
  const metas = Object.entries(
    snapshot.getMeta() as { readonly [stateId: string]: Partial<StateWait> | undefined },
  );
  return new Map(metas.filter((entry): entry is [string, StateWait] => entry[1]?.request_keys !== undefined));
}
