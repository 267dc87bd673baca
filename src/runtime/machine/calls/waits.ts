import type { AnyMachineSnapshot, EventObject } from "xstate";
import type { Questions } from "../../../protocol/events/event-body.ts";
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

  /** Opens the waits of states that an event has entered, and cancels those of states that were left. */
  follow(snapshot: AnyMachineSnapshot, event: EventObject | undefined): void {
    const isAsking = snapshot.status === "active" && snapshot.hasTag("wait");
    const asked = isAsking ? questionsIn(snapshot) : NONE;
    for (const [stateId, callId] of this.#open) {
      if (asked.has(stateId)) continue;
      this.#open.delete(stateId);
      this.#close(callId);
    }
    for (const [stateId, question] of asked)
      if (!this.#open.has(stateId))
        this.#ask(stateId, toAsked(question, { context: snapshot.context, event }), undefined);
  }

  /** Restores the open waits, with the questions that the log has. */
  restore(snapshot: AnyMachineSnapshot, waits: { readonly [stateId: string]: CallId }): void {
    const asked = questionsIn(snapshot);
    const { calls } = this.#calls.actor.turn.journal;
    for (const [stateId, callId] of Object.entries(waits)) {
      const schema = asked.get(stateId)?.schema;
      const questions = calls.get(callId)?.wait?.questions ?? {};
      this.#ask(stateId, { questions, ...(schema && { schema }) }, callId);
    }
  }

  #ask(stateId: string, { questions, schema }: AskedState, known: CallId | undefined): void {
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

/**
 * The `meta` of a state that asks, which has the tag `wait`. Questions that are a function are asked as of the event that has
 * entered the state; the log keeps them.
 */
export interface StateQuestions<Context = never, Event = never> {
  readonly request_keys:
    | Questions
    | ((at: { readonly context: Context; readonly event: Event }) => Questions);
  /** Checks the answer. */
  readonly schema?: Schema<unknown>;
}

/** What a state asks. */
interface AskedState {
  readonly questions: Questions;
  readonly schema?: Schema<unknown>;
}

function toAsked(
  { request_keys: questions, schema }: StateQuestions<unknown, unknown>,
  at: { readonly context: unknown; readonly event: unknown },
): AskedState {
  return {
    questions: typeof questions === "function" ? questions(at) : questions,
    ...(schema && { schema }),
  };
}

const NONE: ReadonlyMap<string, StateQuestions<unknown, unknown>> = new Map();

/** The questions of the states that a machine is in. */
export function questionsIn(snapshot: AnyMachineSnapshot): typeof NONE {
  const metas = Object.entries(
    snapshot.getMeta() as { readonly [stateId: string]: Partial<StateQuestions> | undefined },
  );
  return new Map(
    metas.filter(
      (entry): entry is [string, StateQuestions<unknown, unknown>] => entry[1]?.request_keys !== undefined,
    ),
  );
}
