import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import { scopeOf } from "../journal/call-id.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { CallDelivery } from "../replay/turn-journal.ts";
import { Activity } from "./activity.ts";
import type { ActivityListener } from "./activity.ts";
import type { LiveWait, OpenCall } from "./call-tree.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { toRest } from "./open-rests.ts";
import type { OpenRests, Rest } from "./open-rests.ts";
import type { TurnCounts } from "./turn-counts.ts";

/** The turn whose state is watched. */
export interface QuiescenceListener {
  /** Whether the turn is at rest or suspended may have changed. */
  quiescenceChanged(): void;
  /** The replayed code does not make a call that the log has next. */
  stalled(missing: CallId): void;
}

/** What the state of a turn depends on. */
export interface QuiescenceOptions {
  readonly counts: TurnCounts;
  readonly rests: OpenRests;
  readonly recorder: Recorder;
  readonly environment: Environment;
  /** The deliveries that the log has. */
  readonly deliveries: readonly CallDelivery[];
}

/**
 * Maximum time for replayed code to make the call that is next in the log, in milliseconds. The code may do
 * something that is not visible from here.
 */
const STALL_MS = 60_000;

/**
 * The states in which a turn does not work:
 *
 * - quiescent: no code of the turn can make progress until a call ends;
 * - suspended: every open call waits for something from outside the turn, so its time does not run;
 * - at rest: quiescent and suspended. The status of its request is `waiting` if a wait is open;
 * - passivated: not in memory. A turn at rest can be passivated.
 *
 * A turn can also be outside without being at rest: no code of it runs, but what it sends to another actor has not been
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
  readonly rests: OpenRests;
  /** Whether the turn was at rest at the last look, and nothing has changed since. */
  #wasSeenAtRest = false;
  /** How many rests are so new that their code may still start other work. */
  #settling = 0;
  /** The activity count when the pending look was requested. */
  #lookSince: number | undefined;
  #stall: { readonly missing: CallId; readonly stop: () => void } | undefined;
  #isChangePending = false;
  #stopped = false;
  #whenOutside: (() => void) | undefined;

  constructor(options: QuiescenceOptions, listener: QuiescenceListener) {
    this.#options = options;
    this.#listener = listener;
    const { counts, rests, deliveries, environment } = options;
    this.#counts = counts;
    this.rests = rests;
    this.activity = new Activity(counts);
    this.deliveries = new DeliveryQueue(deliveries, environment.macrotask, this.activity, counts);
    if (options.recorder.watched) this.#watch();
  }

  /**
   * Whether the turn is at rest. `undefined` while that is unknown: the replayed handler has not reached its waits, or
   * has only just asked.
   */
  get atRest(): boolean | undefined {
    const { resting, unreplayed, uncommitted, waits } = this.#counts;
    if ((resting === 0 && unreplayed === 0) || uncommitted > 0) return false;
    if (unreplayed > 0) return undefined;
    if (!this.#isQuiescent) return false;
    if (waits === 0) return this.#wasSeenAtRest;
    return this.#settling === 0 ? true : undefined;
  }

  /** Whether the turn is suspended. */
  get suspended(): boolean {
    return this.#counts.resting > 0 && this.#counts.working === 0;
  }

  /** Calls a function once, when no code of the turn runs here. */
  whenOutside(run: () => void): void {
    this.#whenOutside = run;
    this.#watch();
    this.#lookSoon();
  }

  /** Registers an open call. */
  opened(_call: OpenCall): void {
    this.#wasSeenAtRest = false;
    this.#change();
  }

  /** Registers the end of a call. */
  closed(call: OpenCall): void {
    this.rests.remove(call);
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
    this.rests.addWait(wait);
    this.#rest(wait.call, toRest(wait));
    // A wait of a remote agent has no code here that could start other work.
    if (this.activity.has(scopeOf(wait.callId))) this.#settle();
    this.#lookSoon();
  }

  /** Registers what an open call, other than a wait, waits for from outside the turn. */
  resting(call: OpenCall, rest: Rest): void {
    this.#rest(call, rest);
    if (this.#counts.long > 0) this.#settle();
  }

  /** Registers the deadline of a call, at which a turn at rest must continue. */
  expires(call: OpenCall, until: number): void {
    this.rests.limit(call, until);
    this.#change();
  }

  activityChanged(): void {
    this.#wasSeenAtRest = false;
    const { long, unreplayed, waits } = this.#counts;
    const mayBeQuiescent = waits > unreplayed || long > 0;
    const isWatched = mayBeQuiescent || this.#whenOutside !== undefined;
    if (isWatched || this.deliveries.missing !== undefined) this.#lookSoon();
  }

  /** The turn has ended or is passivated. */
  stop(): void {
    this.#stopped = true;
    this.rests.clear();
    this.#stall?.stop();
  }

  get #isQuiescent(): boolean {
    const { active, queued, working } = this.#counts;
    return active === 0 && queued === 0 && working === 0;
  }

  get #isOutside(): boolean {
    const { active, queued, running } = this.#counts;
    return active === 0 && queued === 0 && running === 0;
  }

  #rest(call: OpenCall, rest: Rest): void {
    call.rest();
    if (rest.kind !== "sleep") call.freeSlots();
    this.rests.add(call, rest, this.#options.environment.now());
    this.#wasSeenAtRest = false;
    this.#watch();
    this.#change();
  }

  /** From now on the turn may become quiescent. */
  #watch(): void {
    this.#options.recorder.watched = true;
    this.activity.listener = this;
  }

  /** After code begins to wait for something, waits one event-loop tick, in which it may start other work. */
  #settle(): void {
    this.#settling += 1;
    this.#options.environment.macrotask(() => {
      this.#settling -= 1;
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
    this.#watchStall(this.#counts.active > 0 ? undefined : deliveries.missing);
    this.#wasSeenAtRest = this.#settling === 0 && this.#isQuiescent;
    if (this.#isOutside) {
      const whenOutside = this.#whenOutside;
      this.#whenOutside = undefined;
      whenOutside?.();
    }
    this.#listener.quiescenceChanged();
  }

  /** Starts the timer for a call that the code does not make, or stops it. */
  #watchStall(missing: CallId | undefined): void {
    if (missing === this.#stall?.missing) return;
    this.#stall?.stop();
    this.#stall = undefined;
    if (missing === undefined) return;
    const stop = this.#options.environment.timer(STALL_MS, () => {
      this.#stall = undefined;
      if (this.deliveries.missing === missing && this.#counts.active === 0) this.#listener.stalled(missing);
    });
    this.#stall = { missing, stop };
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
