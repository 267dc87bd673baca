import { AgentError } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Step, Sequence } from "./sequence.ts";
import type { Call } from "../agent/turn-api.ts";

/** Maximum unread events of a call, and maximum undelivered events of all calls of a turn. */
const EVENTS_LIMIT = 10_000;

/** The parts of a call besides its result. */
export interface CallSources {
  /** The result as text, once there is one. */
  text(): string;
  /** Called when the code starts to iterate, in the same synchronous step as the call. */
  listen(): CallStream;
  /** Cancels the call, unless it has ended. */
  cancel(): void;
}

/** Creates the call object for the promise of its result. */
export function toCall<Output>(result: Promise<Output>, { text, listen, cancel }: CallSources): Call<Output> {
  let isPast = false;
  queueMicrotask(() => {
    isPast = true;
  });
  return Object.assign(result, {
    cancel,
    text() {
      const words = result.then(text);
      // Like the result itself, the text may stay unused.
      words.catch(() => {});
      return words;
    },
    [Symbol.asyncIterator]() {
      if (isPast) {
        throw new AgentError(
          "conflict",
          "iterate a call where it is made; its events are not available later",
        );
      }
      const events = listen();
      result.then(
        () => events.end(),
        (error: Error) => events.end({ error }),
      );
      return events;
    },
  });
}

/** Subscribes to the events of a new call; empty if the call failed to start. */
export function followCall({ actor, scope }: Sequence, step: Step | undefined): CallStream {
  const events = new CallStream();
  if (step === undefined) return events;
  const { callId, logged } = step;
  const { turn } = actor;
  const { journal, recorder } = turn;
  if (!logged) recorder.record({ type: "Iterated", call_id: callId });
  else if (!journal.iterated.has(callId)) {
    turn.diverge({ scope: scope.path, expected: `${callId} awaited`, actual: `${callId} iterated` });
  }
  turn.subscriptions.follow(callId, (event) => {
    if (!events.push(event)) {
      turn.fail(
        "overloaded",
        `${EVENTS_LIMIT} events of ${callId} were not read by the code that iterates the call`,
      );
    } else if (turn.deliveries.newEvents > EVENTS_LIMIT) {
      turn.fail(
        "overloaded",
        `more than ${EVENTS_LIMIT} events wait for the code that iterates ${callId}; await turn.text in what it calls`,
      );
    }
  });
  return events;
}

/** The events of a call for the code that made it: in the order of the log, then the end of the call. */
class CallStream implements AsyncIterator<Event, undefined> {
  #events: Event[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Event, undefined>>[] = [];
  #end: { readonly error?: Error } | undefined;

  /** Adds an event; returns false if too many are unread. */
  push(event: Event): boolean {
    if (this.#end) return true;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve({ done: false, value: event });
    else this.#events.push(event);
    return this.#events.length <= EVENTS_LIMIT;
  }

  /** Ends the iteration, normally or with an error. */
  end(end: { readonly error?: Error } = {}): void {
    this.#end ??= end;
    for (const waiting of this.#waiting) this.next().then(waiting.resolve, waiting.reject);
    this.#waiting = [];
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#events.shift();
    if (event) return Promise.resolve({ done: false, value: event });
    if (this.#end === undefined) {
      const waiting = Promise.withResolvers<IteratorResult<Event, undefined>>();
      this.#waiting.push(waiting);
      return waiting.promise;
    }
    const { error } = this.#end;
    // An error is thrown once.
    this.#end = {};
    return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#events = [];
    this.end();
    return Promise.resolve(DONE);
  }
}

const DONE: IteratorResult<Event, undefined> = { done: true, value: undefined };
