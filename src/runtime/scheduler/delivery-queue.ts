import type { Delivery, Outcome } from "../replay/turn-journal.ts";
import type { Event } from "../../protocol/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import { pathTo, scopeOf } from "../journal/call-id.ts";
import type { Activity } from "./activity.ts";

/**
 * Hands the outcomes of a turn's calls to its code, and the events of calls that it follows, one at a
 * time and in the order of the log, with a turn of the event loop between two. The code therefore meets
 * them in the same order and at the same distance when it is replayed; what arrives live waits behind
 * what the log held already.
 */
export class DeliveryQueue {
  readonly #macrotask: (run: () => void) => void;
  readonly #activity: Activity;
  readonly #queue: Delivery[];
  readonly #waiting = new Map<CallId, (outcome: Outcome) => void>();
  /** How many of those there are in each scope. */
  readonly #waitingIn = new Map<string, number>();
  readonly #following = new Map<CallId, (event: Event) => void>();
  /** What is on its way into the log, by call. */
  readonly #owed = new Map<CallId, number>();
  /** The calls of which nobody wants to hear any more. */
  readonly #forgotten = new Set<CallId>();
  /** The calls under which the code makes none any more, so that what the log has of those is passed over. */
  readonly #closed = new Set<string>();
  /** How much of the queue the log held already. */
  #logged: number;
  #resting = false;
  #stopped = false;
  #next = 0;

  constructor(logged: readonly Delivery[], macrotask: (run: () => void) => void, activity: Activity) {
    this.#queue = [...logged];
    this.#logged = logged.length;
    this.#macrotask = macrotask;
    this.#activity = activity;
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
    return this.#waitingIn.has(scope);
  }

  /** Calls `take` when the outcome of a call has its turn. */
  expect(callId: CallId, take: (outcome: Outcome) => void): void {
    const scope = scopeOf(callId);
    if (this.#waiting.has(callId)) this.#waitNoMore(callId);
    this.#waiting.set(callId, take);
    this.#waitingIn.set(scope, (this.#waitingIn.get(scope) ?? 0) + 1);
    this.#activity.calm(scope);
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
    this.#passOver();
    if (!this.#resting) this.#deliver();
  }

  /** Forgets a call whose outcome nobody waits for any more. */
  forget(callId: CallId): void {
    this.#following.delete(callId);
    this.#waitNoMore(callId);
    this.#forgotten.add(callId);
    this.#passOver();
  }

  /** The code will make no call under a call any more: what the log has of them is passed over. */
  giveUpAhead(above: CallId): void {
    if (this.#next >= this.#logged) return;
    this.#closed.add(above);
    this.#passOver();
  }

  /** Gives whoever waits for a call an outcome that is not in the log, a turn of the event loop later. */
  fail(callId: CallId, outcome: Outcome): void {
    const take = this.#waiting.get(callId);
    this.forget(callId);
    if (take) this.#macrotask(() => take(outcome));
  }

  /** Tells all who still wait the same, a turn of the event loop later. */
  end(outcome: Outcome): void {
    const waiting = [...this.#waiting.values()];
    this.stop();
    if (waiting.length > 0) this.#macrotask(() => waiting.forEach((take) => take(outcome)));
  }

  /** Hands out nothing more, not even an error: the code that waits is left to the garbage collector. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
    this.#waitingIn.clear();
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
    this.#waitNoMore(delivery.callId);
    this.#following.delete(delivery.callId);
    this.#advance(delivery.callId);
    take(delivery.outcome);
  }

  #advance(callId: CallId): void {
    this.#next += 1;
    this.#passOver();
    this.#compact();
    this.#rest();
    this.#activity.stir(scopeOf(callId));
  }

  /** Goes past what nobody will ever take, lest what comes after it waits for that. */
  #passOver(): void {
    const before = this.#next;
    while (this.#isUnwanted(this.#queue[this.#next])) this.#next += 1;
    if (this.#next === before) return;
    this.#rest();
    this.#activity.spare();
  }

  #isUnwanted(delivery: Delivery | undefined): boolean {
    if (delivery === undefined || this.#waiting.has(delivery.callId)) return false;
    const { callId } = delivery;
    if (this.#forgotten.has(callId)) return true;
    if (this.#closed.size === 0 || this.#next >= this.#logged) return false;
    return pathTo(callId).some((above) => above !== callId && this.#closed.has(above));
  }

  #waitNoMore(callId: CallId): void {
    if (!this.#waiting.delete(callId)) return;
    const scope = scopeOf(callId);
    const others = (this.#waitingIn.get(scope) ?? 1) - 1;
    if (others > 0) this.#waitingIn.set(scope, others);
    else this.#waitingIn.delete(scope);
  }

  #compact(): void {
    if (this.#next < 1_000 || this.#next < this.#queue.length / 2) return;
    this.#queue.splice(0, this.#next);
    this.#logged -= this.#next;
    this.#next = 0;
  }
}
