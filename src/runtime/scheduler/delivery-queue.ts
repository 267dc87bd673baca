import type { CallDelivery, Outcome } from "../replay/turn-journal.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import { pathTo, scopeOf } from "../journal/call-id.ts";
import type { Activity } from "./activity.ts";
import type { TurnCounts } from "./turn-counts.ts";

/** The number of new events from which on the code that records them waits, until half of them are delivered. */
const EVENTS_AHEAD = 1_000;

/**
 * Delivers the outcomes of calls, and the events of followed calls, to the code of a turn: one at a time, in the
 * order of the log, with a turn of the event loop between two. A replay therefore delivers them in the same order
 * and at the same distance. New deliveries wait behind those of the log.
 */
export class DeliveryQueue {
  /** Called when the last delivery of the log is delivered or skipped. */
  replayed: (() => void) | undefined;
  readonly #macrotask: (run: () => void) => void;
  readonly #activity: Activity;
  readonly #queue: CallDelivery[];
  /** The code that waits for deliveries, by their call. */
  #waiting: Map<CallId, WaitingCode> | undefined;
  readonly #counts: TurnCounts;
  /** The calls whose logged deliveries are skipped. Absent when the logged deliveries are over. */
  #forgotten: Set<CallId> | undefined;
  /** The calls under which the code makes no more calls, so that logged deliveries under them are skipped. */
  #closed: Set<string> | undefined;
  /** The length of the part of the queue that came from the log. */
  #logged: number;
  /** The number of events that are announced or queued, without those that came from the log. */
  #newEvents = 0;
  /** Present while code waits for deliveries of events. */
  #caughtUp: PromiseWithResolvers<void> | undefined;
  #isPaused = false;
  #stopped = false;
  #next = 0;

  constructor(
    logged: readonly CallDelivery[],
    macrotask: (run: () => void) => void,
    activity: Activity,
    counts: TurnCounts,
  ) {
    this.#counts = counts;
    counts.queued = logged.length;
    this.#queue = [...logged];
    this.#logged = logged.length;
    this.#macrotask = macrotask;
    this.#activity = activity;
  }

  /** The number of events of followed calls that were recorded since the replay and are not delivered. */
  get newEvents(): number {
    return this.#newEvents;
  }

  /** Whether so many events are not delivered that the code that records them should wait. */
  get isBehind(): boolean {
    return this.#newEvents >= EVENTS_AHEAD;
  }

  /** Whether deliveries of the log are left. */
  get isReplaying(): boolean {
    return this.#next < this.#logged;
  }

  /** The call of the next delivery, if the code has not made that call yet. */
  get missing(): CallId | undefined {
    const next = this.#queue[this.#next];
    return next !== undefined && this.#waiting?.has(next.callId) !== true ? next.callId : undefined;
  }

  /** Calls `take` when the outcome of a call has its turn. */
  expect(callId: CallId, take: (outcome: Outcome) => void): void {
    const before = this.#waiting?.get(callId);
    if (before) this.#waitNoMore(callId);
    (this.#waiting ??= new Map()).set(callId, { take, follow: before?.follow });
    this.#activity.awaits(scopeOf(callId));
    // A new call gets its outcome in a later turn of the event loop, on replay as well.
    if (this.#queue[this.#next]?.callId === callId) this.#pause();
  }

  /** Announces a delivery that is pushed after its commit. */
  announce(): void {
    this.#counts.uncommitted += 1;
  }

  /** Announces an event of a followed call. */
  announceEvent(): void {
    this.#newEvents += 1;
    this.announce();
  }

  /** Resolves when few events are left to deliver, or when nothing more is delivered. */
  caughtUp(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return (this.#caughtUp ??= Promise.withResolvers<void>()).promise;
  }

  /** Calls `take` with each event of a call in its turn. The call must be expected already. */
  follow(callId: CallId, take: (event: Event) => void): void {
    const waiting = this.#waiting?.get(callId);
    if (waiting) waiting.follow = take;
  }

  /** Adds a delivery that is committed. */
  push(delivery: CallDelivery): void {
    if (this.#stopped) return;
    this.#counts.uncommitted -= 1;
    this.#counts.queued += 1;
    this.#queue.push(delivery);
    this.#skip();
    if (!this.#isPaused) this.#deliver();
  }

  /** Skips the deliveries of a call from now on. */
  forget(callId: CallId): void {
    this.#waitNoMore(callId);
    if (this.isReplaying) (this.#forgotten ??= new Set()).add(callId);
    this.#skip();
  }

  /** Skips the logged deliveries under a call, because the code will no longer make those calls. */
  dropUnreplayed(above: CallId): void {
    if (!this.isReplaying) return;
    (this.#closed ??= new Set()).add(above);
    this.#skip();
  }

  /** Gives the code that waits for a call an outcome that is not in the log, a turn of the event loop later. */
  fail(callId: CallId, outcome: Outcome): void {
    const waiting = this.#waiting?.get(callId);
    this.forget(callId);
    if (waiting) this.#macrotask(() => waiting.take(outcome));
  }

  /** Gives all code that still waits the same outcome, a turn of the event loop later. */
  end(outcome: Outcome): void {
    const waiting = this.#waiting;
    this.stop();
    if (waiting && waiting.size > 0) this.#macrotask(() => waiting.forEach(({ take }) => take(outcome)));
  }

  /** Delivers nothing more, not even an error. Waiting code is left to the garbage collector. */
  stop(): void {
    this.#stopped = true;
    this.#waiting = undefined;
    this.#caughtUp?.resolve();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#macrotask(() => {
      this.#isPaused = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    const delivery = this.#queue[this.#next];
    if (delivery === undefined || this.#stopped) return;
    const waiting = this.#waiting?.get(delivery.callId);
    // The code has not made this call yet. Delivery continues when it does.
    if (waiting === undefined) return;
    if ("event" in delivery) {
      this.#advance(delivery.callId);
      waiting.follow?.(delivery.event);
      return;
    }
    this.#waitNoMore(delivery.callId);
    this.#advance(delivery.callId);
    waiting.take(delivery.outcome);
  }

  #advance(callId: CallId): void {
    this.#pass();
    this.#skip();
    this.#compact();
    this.#pause();
    this.#activity.activate(scopeOf(callId));
  }

  /** Takes the next delivery out of the queue. */
  #pass(): void {
    const delivery = this.#queue[this.#next];
    const isNew = !this.isReplaying;
    this.#next += 1;
    this.#counts.queued -= 1;
    if (this.#next === this.#logged) this.replayed?.();
    if (!isNew || delivery === undefined || !("event" in delivery)) return;
    this.#newEvents -= 1;
    if (this.#newEvents > EVENTS_AHEAD / 2) return;
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }

  /** Skips results that no code consumes, so that they do not block later ones. */
  #skip(): void {
    const before = this.#next;
    while (this.#isUnwanted(this.#queue[this.#next])) this.#pass();
    if (!this.isReplaying) {
      this.#forgotten = undefined;
      this.#closed = undefined;
    }
    if (this.#next === before) return;
    this.#pause();
    this.#activity.deliverySkipped();
  }

  #isUnwanted(delivery: CallDelivery | undefined): boolean {
    if (delivery === undefined || this.#waiting?.has(delivery.callId) === true) return false;
    // Code waits for a new call from the time it makes it. Replayed code may not have made its call yet.
    if (!this.isReplaying) return true;
    const { callId } = delivery;
    if (this.#forgotten?.has(callId) === true) return true;
    const closed = this.#closed;
    return closed !== undefined && pathTo(callId).some((above) => above !== callId && closed.has(above));
  }

  #waitNoMore(callId: CallId): void {
    if (this.#waiting?.delete(callId) === true) this.#activity.awaitsNoMore(scopeOf(callId));
  }

  #compact(): void {
    if (this.#next < 1_000 || this.#next < this.#queue.length / 2) return;
    this.#queue.splice(0, this.#next);
    this.#logged -= this.#next;
    this.#next = 0;
  }
}

/** The code that waits for the outcome of a call. */
interface WaitingCode {
  readonly take: (outcome: Outcome) => void;
  /** Takes the events of the call, if the code iterates them. */
  follow: ((event: Event) => void) | undefined;
}
