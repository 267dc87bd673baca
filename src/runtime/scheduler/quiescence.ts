import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import { scopeOf } from "../journal/call-id.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { Delivery } from "../replay/turn-journal.ts";
import { Activity } from "./activity.ts";
import type { ActivityListener } from "./activity.ts";
import type { CallKind, LiveWait, OpenCall } from "./call-tree.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { OpenReceives } from "./open-receives.ts";
import { OpenSleeps } from "./open-sleeps.ts";
import type { OpenWaits } from "./open-waits.ts";

/** The turn whose state is watched. */
export interface QuiescenceListener {
  /** Whether the turn is parked, suspended or sleeps may have changed. */
  quiescenceChanged(): void;
  /** The replayed code does not make a call that the log has next. */
  stalled(missing: CallId): void;
}

/** What the state of a turn depends on. */
export interface QuiescenceOptions {
  readonly root: OpenCall;
  readonly waits: OpenWaits;
  readonly recorder: Recorder;
  readonly environment: Environment;
  /** The deliveries that the log has. */
  readonly deliveries: readonly Delivery[];
}

/** Calls during which the time of a turn does not run. */
const SUSPENDING: ReadonlySet<CallKind> = new Set(["wait", "sleep", "receive"]);

/**
 * Maximum time for replayed code to make the call that is next in the log, in milliseconds. The code may do
 * something that is not visible from here.
 */
const STALL_MS = 60_000;

/**
 * The states in which a turn does not work:
 *
 * - quiescent: no code of the turn can make progress until a call ends;
 * - parked: quiescent, and it only waits for answers of its caller;
 * - suspended: it only waits for answers or messages, or sleeps, so its time does not run;
 * - passivated: not in memory. A parked turn or one in a long sleep can be passivated.
 *
 * The first three are known from the turn's activity, deliveries and open calls. Whether a turn is quiescent:
 * `#look` decides this, after a commit and one event-loop tick, in which the code can continue.
 */
export class Quiescence implements ActivityListener {
  readonly activity: Activity;
  readonly deliveries: DeliveryQueue;
  readonly #options: QuiescenceOptions;
  readonly #listener: QuiescenceListener;
  readonly receives: OpenReceives = new OpenReceives();
  readonly #sleeps = new OpenSleeps();
  /** The end of the turn's sleep at the last look. */
  #seenWakeAt: number | undefined;
  /** How many open calls suspend the turn. */
  #suspending = 0;
  /** How many waits and sleeps are so new that their code may still start other work. */
  #settling = 0;
  /** The activity count when the pending look was requested. */
  #lookSince: number | undefined;
  #stall: { readonly missing: CallId; readonly stop: () => void } | undefined;
  #isChangePending = false;
  #stopped = false;

  constructor(options: QuiescenceOptions, listener: QuiescenceListener) {
    this.#options = options;
    this.#listener = listener;
    this.activity = new Activity();
    this.deliveries = new DeliveryQueue(options.deliveries, options.environment.macrotask, this.activity);
    if (options.recorder.watched) this.#watch();
  }

  /**
   * Whether the turn is parked. `undefined` while that is unknown: the replayed handler has not reached its
   * waits, or has only just asked.
   */
  get parked(): boolean | undefined {
    const { root, waits } = this.#options;
    if (waits.size === 0 || this.deliveries.awaitsCommit) return false;
    if (waits.anyUnreplayed) return undefined;
    if (this.activity.any || !this.deliveries.isEmpty || !root.onlyWaits) return false;
    return this.#settling === 0 ? true : undefined;
  }

  /**
   * The end of the sleep of a turn that does nothing else, in milliseconds since 1970. `undefined` when it does
   * not sleep, when its sleeps are short, or when its code may still continue.
   */
  get wakeAt(): number | undefined {
    return this.#seenWakeAt === this.#wakeAt ? this.#seenWakeAt : undefined;
  }

  /** Whether the turn is suspended. */
  get suspended(): boolean {
    return this.#suspending > 0 && this.#options.root.onlySuspends;
  }

  /** Registers an open call. */
  opened({ kind }: OpenCall): void {
    if (SUSPENDING.has(kind)) {
      this.#suspending += 1;
      this.#watch();
    }
    this.#change();
  }

  /** Registers the end of a call. */
  closed({ callId, kind }: OpenCall): void {
    if (SUSPENDING.has(kind)) this.#suspending -= 1;
    if (kind === "receive") this.receives.remove(callId);
    if (kind === "sleep" || kind === "receive") this.#sleeps.remove(callId);
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
    this.#options.waits.add(wait);
    // A wait of a remote agent has no code here that could start other work.
    if (this.activity.has(scopeOf(wait.callId))) this.#settle();
    this.#lookSoon();
  }

  get openSleeps(): number {
    return this.#sleeps.size;
  }

  /** Registers a sleep until a time, or a receive with one. */
  sleeping(callId: CallId, until: number, now: number): void {
    this.#sleeps.add(callId, until, now);
    if (this.#sleeps.anyLong) this.#settle();
  }

  activityChanged(): void {
    this.#seenWakeAt = undefined;
    const mayBeQuiescent = this.#options.waits.anyLive || this.#sleeps.anyLong;
    if (mayBeQuiescent || this.deliveries.missing !== undefined) this.#lookSoon();
  }

  /** The turn has ended or is passivated. */
  stop(): void {
    this.#stopped = true;
    this.#options.waits.clear();
    this.#stall?.stop();
  }

  get #wakeAt(): number | undefined {
    if (!this.#sleeps.anyLong || this.#settling > 0) return undefined;
    const { root, waits } = this.#options;
    const { isEmpty, awaitsCommit } = this.deliveries;
    const isQuiescent = !this.activity.any && isEmpty && !awaitsCommit && !waits.anyUnreplayed;
    return isQuiescent && root.onlySuspends ? this.#sleeps.firstEnd : undefined;
  }

  /** From now on the turn may become quiescent. */
  #watch(): void {
    this.#options.recorder.watched = true;
    this.activity.listener = this;
  }

  /** After code asks or sleeps, waits one event-loop tick, in which it may start other work. */
  #settle(): void {
    this.#settling += 1;
    this.#options.environment.macrotask(() => {
      this.#settling -= 1;
      if (this.#stopped) return;
      if (this.#sleeps.anyLong) this.#lookSoon();
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
    activity.deactivateSince(since, (scope) => deliveries.waitsIn(scope));
    if (activity.count > since) this.#lookSoon();
    this.#watchStall(activity.any ? undefined : deliveries.missing);
    this.#seenWakeAt = this.#wakeAt;
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
      if (this.deliveries.missing === missing && !this.activity.any) this.#listener.stalled(missing);
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
