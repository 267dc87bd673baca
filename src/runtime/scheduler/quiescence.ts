import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import { scopeOf } from "../journal/call-id.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { CallDelivery } from "../replay/turn-journal.ts";
import { Activity } from "./activity.ts";
import type { ActivityListener } from "./activity.ts";
import type { LiveWait, OpenCall } from "./call-tree.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { toParkReason } from "./parked-calls.ts";
import type { ParkedCalls, ParkReason } from "./parked-calls.ts";
import type { TurnCounts } from "./turn-counts.ts";

/** The turn whose state is watched. */
export interface QuiescenceListener {
  /** Whether the turn is parked or suspended may have changed. */
  quiescenceChanged(): void;
  /** The replayed code does not make a call that the log has next. */
  callMissing(missing: CallId): void;
}

/** What the state of a turn depends on. */
export interface QuiescenceOptions {
  readonly counts: TurnCounts;
  readonly parkedCalls: ParkedCalls;
  readonly recorder: Recorder;
  readonly environment: Environment;
  /** The deliveries that the log has. */
  readonly deliveries: readonly CallDelivery[];
}

/**
 * Maximum time for replayed code to make the call that is next in the log, in milliseconds. The code may do
 * something that is not visible from here.
 */
const MISSING_MS = 60_000;

/**
 * The states in which a turn does not work:
 *
 * - quiescent: no code of the turn can make progress until a call ends;
 * - suspended: every open call is parked, which means that it waits for something from outside the turn. The time of the
 *   turn does not run;
 * - parked: quiescent and suspended. The status of its request is `waiting` if a wait is open;
 * - passivated: not in memory. A parked turn can be passivated.
 *
 * A turn can also be outside without being parked: no code of it runs, but what it sends to another actor has not been
 * accepted. It cannot be passivated, and cannot be what ends the process.
 *
 * The first three are known from the turn's activity, deliveries and open calls. Whether a turn is quiescent:
 * `#look` decides this, after a commit and one event-loop tick, in which the code can continue.
 */
export class Quiescence implements ActivityListener {
  readonly activity: Activity;
  readonly deliveries: DeliveryQueue;
  readonly #options: QuiescenceOptions;
  readonly #counts: TurnCounts;
  readonly #listener: QuiescenceListener;
  /** The open calls that wait for something from outside the turn. */
  readonly parkedCalls: ParkedCalls;
  /** Whether the turn was parked at the last look, and nothing has changed since. */
  #wasSeenParked = false;
  /** How many calls were parked so recently that their code may still start other work. */
  #newlyParked = 0;
  /** The activity count when the pending look was requested. */
  #lookSince: number | undefined;
  #missing: { readonly missing: CallId; readonly stop: () => void } | undefined;
  #isChangePending = false;
  #stopped = false;
  #whenOutside: (() => void) | undefined;

  constructor(options: QuiescenceOptions, listener: QuiescenceListener) {
    this.#options = options;
    this.#listener = listener;
    const { counts, parkedCalls, deliveries, environment } = options;
    this.#counts = counts;
    this.parkedCalls = parkedCalls;
    this.activity = new Activity(counts);
    this.deliveries = new DeliveryQueue(deliveries, environment.macrotask, this.activity, counts);
    if (options.recorder.watched) this.#watch();
  }

  /**
   * Whether the turn is parked. `undefined` while that is unknown: the replayed handler has not reached its waits, or
   * has only just asked.
   */
  get parked(): boolean | undefined {
    const { parked, unreplayed, uncommitted, waits } = this.#counts;
    if ((parked === 0 && unreplayed === 0) || uncommitted > 0) return false;
    if (unreplayed > 0) return undefined;
    if (!this.#isQuiescent) return false;
    if (waits === 0) return this.#wasSeenParked;
    return this.#newlyParked === 0 ? true : undefined;
  }

  /** Whether the turn is suspended. */
  get suspended(): boolean {
    return this.#counts.parked > 0 && this.#counts.working === 0;
  }

  /** Calls a function once, when no code of the turn runs here. */
  whenOutside(run: () => void): void {
    this.#whenOutside = run;
    this.#watch();
    this.#lookSoon();
  }

  /** Registers an open call. */
  opened(_call: OpenCall): void {
    this.#wasSeenParked = false;
    this.#change();
  }

  /** Registers the end of a call. */
  closed(call: OpenCall): void {
    this.parkedCalls.remove(call);
    this.#change();
  }

  /** Sets whether a call waits for another call of the turn before it starts. */
  queue(call: OpenCall, isQueued: boolean): void {
    call.queued = isQueued;
    this.#change();
    if (isQueued) this.#lookSoon();
  }

  /** Registers an open wait that can be answered. */
  waiting(wait: LiveWait): void {
    this.parkedCalls.addWait(wait);
    this.#park(wait.call, toParkReason(wait));
    // A wait of a remote agent has no code here that could start other work.
    if (this.activity.has(scopeOf(wait.callId))) this.#awaitOtherWork();
    this.#lookSoon();
  }

  /** Registers what an open call, other than a wait, waits for from outside the turn. */
  park(call: OpenCall, reason: ParkReason): void {
    this.#park(call, reason);
    if (this.#counts.long > 0) this.#awaitOtherWork();
  }

  /** Registers the deadline of a call, at which a parked turn must continue. */
  expires(call: OpenCall, until: number): void {
    this.parkedCalls.limit(call, until);
    this.#change();
  }

  activityChanged(): void {
    this.#wasSeenParked = false;
    const { long, unreplayed, waits } = this.#counts;
    const mayBeQuiescent = waits > unreplayed || long > 0;
    const isWatched = mayBeQuiescent || this.#whenOutside !== undefined;
    if (isWatched || this.deliveries.missing !== undefined) this.#lookSoon();
  }

  /** The turn has ended or is passivated. */
  stop(): void {
    this.#stopped = true;
    this.parkedCalls.clear();
    this.#missing?.stop();
  }

  get #isQuiescent(): boolean {
    const { active, queued, working } = this.#counts;
    return active === 0 && queued === 0 && working === 0;
  }

  get #isOutside(): boolean {
    const { active, queued, running } = this.#counts;
    return active === 0 && queued === 0 && running === 0;
  }

  #park(call: OpenCall, reason: ParkReason): void {
    call.park();
    if (reason.kind !== "sleep") call.freeSlots();
    this.parkedCalls.add(call, reason, this.#options.environment.now());
    this.#wasSeenParked = false;
    this.#watch();
    this.#change();
  }

  /** From now on the turn may become quiescent. */
  #watch(): void {
    this.#options.recorder.watched = true;
    this.activity.listener = this;
  }

  /** After code begins to wait for something, waits one event-loop tick, in which it may start other work. */
  #awaitOtherWork(): void {
    this.#newlyParked += 1;
    this.#options.environment.macrotask(() => {
      this.#newlyParked -= 1;
      if (this.#stopped) return;
      if (this.#counts.long > 0) this.#lookSoon();
      this.#listener.quiescenceChanged();
    });
  }

  /** Calls `#look` after a commit and one event-loop tick. */
  #lookSoon(): void {
    if (this.#lookSince !== undefined) return;
    const { recorder, environment } = this.#options;
    this.#lookSince = this.activity.count;
    recorder.committed().then(
      () => environment.macrotask(() => this.#look()),
      // A failed commit is reported to the run.
      () => {},
    );
  }

  #look(): void {
    const since = this.#lookSince ?? 0;
    this.#lookSince = undefined;
    if (this.#stopped) return;
    const { activity, deliveries } = this;
    activity.deactivateSince(since);
    if (activity.count > since) this.#lookSoon();
    this.#watchMissing(this.#counts.active > 0 ? undefined : deliveries.missing);
    this.#wasSeenParked = this.#newlyParked === 0 && this.#isQuiescent;
    if (this.#isOutside) {
      const whenOutside = this.#whenOutside;
      this.#whenOutside = undefined;
      whenOutside?.();
    }
    this.#listener.quiescenceChanged();
  }

  /** Starts the timer for a call that the code does not make, or stops it. */
  #watchMissing(missing: CallId | undefined): void {
    if (missing === this.#missing?.missing) return;
    this.#missing?.stop();
    this.#missing = undefined;
    if (missing === undefined) return;
    const stop = this.#options.environment.timer(MISSING_MS, () => {
      this.#missing = undefined;
      if (this.deliveries.missing === missing && this.#counts.active === 0)
        this.#listener.callMissing(missing);
    });
    this.#missing = { missing, stop };
  }

  /** Reports all changes up to the next microtask at once. */
  #change(): void {
    if (this.#isChangePending || !this.#options.recorder.watched) return;
    this.#isChangePending = true;
    queueMicrotask(() => {
      this.#isChangePending = false;
      if (!this.#stopped) this.#listener.quiescenceChanged();
    });
  }
}
