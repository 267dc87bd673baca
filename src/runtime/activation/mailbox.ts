import { AgentError } from "../../errors.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { Limits } from "../limits.ts";

/** Holds the requests of one run until the run is ready for the next one. */
export class Mailbox {
  readonly #limits: Limits;
  readonly #items: AcceptedRequest[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Throws `overloaded` when there is no room for a request. Clients and actors do not take each other's room. */
  checkRoom(request: AcceptedRequest): void {
    const { queuedRequests, queuedActorRequests, queuedBytes } = this.#limits;
    const isOfActor = isFromActor(request);
    const limit = isOfActor ? queuedActorRequests : queuedRequests;
    const alike = this.#items.filter((item) => isFromActor(item) === isOfActor).length;
    if (alike >= limit) {
      const whose = isOfActor ? "queued requests of actors" : "queued requests";
      throw new AgentError("overloaded", `the run already has ${limit} ${whose}`, { retryAfterS: 1 });
    }
    const bytes = [...this.#items, request].reduce((sum, item) => sum + sizeOf(item), 0);
    if (bytes <= queuedBytes) return;
    throw new AgentError("overloaded", `the queued requests of the run have more than ${queuedBytes} bytes`, {
      retryAfterS: 1,
    });
  }

  /** Adds an item at the end. */
  post(item: AcceptedRequest): void {
    this.#items.push(item);
  }

  /** Adds an item at the front, even if the mailbox is full. */
  postFirst(item: AcceptedRequest): void {
    this.#items.unshift(item);
  }

  /** Removes and returns the oldest item, or `undefined` when there is none. */
  take(): AcceptedRequest | undefined {
    // A mailbox has few items, so shifting the array is cheap.
    return this.#items.shift();
  }

  /** Removes and returns the first item that matches. */
  remove(fits: (item: AcceptedRequest) => boolean): AcceptedRequest | undefined {
    const at = this.#items.findIndex(fits);
    return at < 0 ? undefined : this.#items.splice(at, 1)[0];
  }
}

/** Whether an actor of this server sent a request. */
export function isFromActor({ sender }: AcceptedRequest): boolean {
  return sender !== undefined && sender.server === undefined;
}

/** The approximate size of a request in bytes, cached because it is needed for each later request. */
function sizeOf(item: AcceptedRequest): number {
  const known = SIZES.get(item);
  if (known !== undefined) return known;
  const size = JSON.stringify(item.request.input).length;
  SIZES.set(item, size);
  return size;
}

const SIZES = new WeakMap<AcceptedRequest, number>();
