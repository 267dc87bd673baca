import { AgentError } from "../../errors.ts";
import type { Event } from "../../protocol/events.ts";
import type { Step, Sequence } from "./sequence.ts";
import type { Call } from "../agent/turn-api.ts";

/** So many events of a call may wait for the code that iterates over them. */
const EVENTS_LIMIT = 10_000;

/** How a call is asked for more than its result. */
export interface CallSources {
  /** The result in words, once there is one. */
  text(): string;
  /** Called when the events are asked for, in the same go as the call was made. */
  listen(): CallStream;
}

/** Makes a call of the promise of its result. */
export function toCall<Output>(result: Promise<Output>, { text, listen }: CallSources): Call<Output> {
  let isPast = false;
  queueMicrotask(() => {
    isPast = true;
  });
  return Object.assign(result, {
    text() {
      const words = result.then(text);
      // As the result itself, it may be left alone.
      words.catch(() => {});
      return words;
    },
    [Symbol.asyncIterator]() {
      if (isPast) {
        throw new AgentError(
          "conflict",
          "the events of a call are asked for where it is made, or not at all",
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

/** Follows the events of a call that was made just now; there are none when it could not be made. */
export function followCall({ actor, scope }: Sequence, begun: Step | undefined): CallStream {
  const events = new CallStream();
  if (begun === undefined) return events;
  const { callId, logged } = begun;
  const { turn } = actor;
  const { journal, recorder } = turn;
  if (!logged) recorder.record({ type: "Iterated", call_id: callId });
  else if (!journal.iterated.has(callId)) {
    turn.diverge({ scope: scope.path, expected: `${callId} awaited`, actual: `${callId} iterated` });
  }
  turn.follow(callId, (event) => {
    if (events.push(event)) return;
    turn.fail("overloaded", `${EVENTS_LIMIT} events of ${callId} were not taken by who iterates over it`);
  });
  return events;
}

/** The events of a call, for the code that made it: in the order of the log, and then the end of the call. */
class CallStream implements AsyncIterator<Event, undefined> {
  #events: Event[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Event, undefined>>[] = [];
  #end: { readonly error?: Error } | undefined;

  /** Takes the next event; says no when the code has left too many of them. */
  push(event: Event): boolean {
    if (this.#end) return true;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve({ done: false, value: event });
    else this.#events.push(event);
    return this.#events.length <= EVENTS_LIMIT;
  }

  /** Nothing more comes, or an error. */
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
    // An error is told once.
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
