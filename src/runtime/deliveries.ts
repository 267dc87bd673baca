import type { Event } from "../protocol/events.ts";
import type { CallId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import { isUnder, scopeOf } from "./call-id.ts";
import type { Stirrings } from "./stirrings.ts";

/** How a call of a turn ended. */
export type Outcome =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Of a call of an agent or tool: the same in words. */
      readonly text?: string;
    }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** What a turn's code is told of a call: how it ended, or, if it wants to know, what happens under it. */
export type Delivery =
  | { readonly callId: CallId; readonly outcome: Outcome }
  | { readonly callId: CallId; readonly event: Event };

/**
 * Hands the outcomes of a turn's calls to its code, and the events of calls that it follows, one at a
 * time and in the order of the log, with a turn of the event loop between two. The code therefore meets
 * them in the same order and at the same distance when it is replayed; what arrives live waits behind
 * what the log held already.
 */
export class Deliveries {
  readonly #macrotask: (run: () => void) => void;
  readonly #stirrings: Stirrings;
  #queue: Delivery[];
  readonly #waiting = new Map<CallId, (outcome: Outcome) => void>();
  readonly #following = new Map<CallId, (event: Event) => void>();
  /** What is on its way into the log, by call. */
  readonly #owed = new Map<CallId, number>();
  #resting = false;
  #stopped = false;
  #next = 0;

  constructor(logged: readonly Delivery[], macrotask: (run: () => void) => void, stirrings: Stirrings) {
    this.#queue = [...logged];
    this.#macrotask = macrotask;
    this.#stirrings = stirrings;
  }

  /** Whether something to be handed out is on its way into the log. */
  get owes(): boolean {
    return this.#owed.size > 0;
  }

  /** Whether there is nothing to hand out. */
  get none(): boolean {
    return this.#next === this.#queue.length;
  }

  /** The call that the log has next and that nobody has made yet. */
  get missing(): CallId | undefined {
    const next = this.#queue[this.#next];
    return next !== undefined && !this.#waiting.has(next.callId) ? next.callId : undefined;
  }

  /** Whether a call of a scope waits for its outcome. */
  waitsIn(scope: string): boolean {
    for (const callId of this.#waiting.keys()) if (scopeOf(callId) === scope) return true;
    return false;
  }

  /** Calls `take` when the outcome of a call has its turn. */
  expect(callId: CallId, take: (outcome: Outcome) => void): void {
    this.#waiting.set(callId, take);
    this.#stirrings.calm(scopeOf(callId));
    // A call that was just made gets its outcome in a later turn of the loop, in replay as it does live.
    if (this.#queue[this.#next]?.callId === callId) this.#rest();
  }

  /** Says that something of a call will be pushed once it is in the log. */
  owe(callId: CallId): void {
    this.#owed.set(callId, (this.#owed.get(callId) ?? 0) + 1);
  }

  /** Calls `take` with each event of a call when it has its turn; the call itself must be expected already. */
  follow(callId: CallId, take: (event: Event) => void): void {
    this.#following.set(callId, take);
  }

  /** Adds what is in the log now. */
  push(delivery: Delivery): void {
    const owed = this.#owed.get(delivery.callId) ?? 0;
    if (owed > 1) this.#owed.set(delivery.callId, owed - 1);
    else this.#owed.delete(delivery.callId);
    this.#queue.push(delivery);
    if (!this.#resting) this.#deliver();
  }

  /** Forgets a call whose outcome nobody waits for any more. */
  forget(callId: CallId): void {
    const isOfCall = (delivery: Delivery): boolean => delivery.callId === callId;
    this.#following.delete(callId);
    // What comes after it must not wait for somebody to take it.
    if (this.#owed.has(callId) || this.#queue.slice(this.#next).some(isOfCall))
      this.#waiting.set(callId, () => {});
    else this.#waiting.delete(callId);
  }

  /** The code will make no call under a call any more: what the log has of them is passed over. */
  giveUpAhead(above: CallId): void {
    if (this.none) return;
    const isGone = ({ callId }: Delivery): boolean =>
      callId !== above && isUnder(callId, above) && !this.#waiting.has(callId);
    this.#queue = this.#queue.filter((delivery, index) => index < this.#next || !isGone(delivery));
    this.#rest();
  }

  /** Gives whoever waits for a call an outcome that is not in the log, a turn of the event loop later. */
  fail(callId: CallId, outcome: Outcome): void {
    const take = this.#waiting.get(callId);
    this.forget(callId);
    if (take) this.#macrotask(() => take(outcome));
  }

  /** Tells all who still wait the same, a turn of the event loop later. */
  end(outcome: Outcome): void {
    this.#stopped = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    if (waiting.length > 0) this.#macrotask(() => waiting.forEach((take) => take(outcome)));
  }

  /** Hands out nothing more, not even an error: the code that waits is left to the garbage collector. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
  }

  #rest(): void {
    if (this.#resting) return;
    this.#resting = true;
    this.#macrotask(() => {
      this.#resting = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    const delivery = this.#queue[this.#next];
    if (delivery === undefined || this.#stopped) return;
    const take = this.#waiting.get(delivery.callId);
    // The code has not come to this call yet; it will ask.
    if (take === undefined) return;
    if ("event" in delivery) {
      this.#advance(delivery.callId);
      this.#following.get(delivery.callId)?.(delivery.event);
      return;
    }
    this.#waiting.delete(delivery.callId);
    this.#following.delete(delivery.callId);
    this.#advance(delivery.callId);
    take(delivery.outcome);
  }

  #advance(callId: CallId): void {
    this.#next += 1;
    this.#compact();
    this.#rest();
    this.#stirrings.stir(scopeOf(callId));
  }

  #compact(): void {
    if (this.#next < 1_000 || this.#next < this.#queue.length / 2) return;
    this.#queue.splice(0, this.#next);
    this.#next = 0;
  }
}
