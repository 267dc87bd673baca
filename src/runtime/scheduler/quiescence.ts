import type { CallId } from "../../protocol/ids.ts";
import { scopeOf } from "../journal/call-id.ts";
import { IdleProbe } from "./idle-probe.ts";
import type { IdleProbeOptions } from "./idle-probe.ts";
import type { CallKind, LiveWait, OpenCall } from "./call-tree.ts";
import type { OpenWaits } from "./open-waits.ts";

/** What has to be known of a turn to tell whether it rests, and whom to tell. */
export interface QuiescenceOptions extends IdleProbeOptions {
  readonly root: OpenCall;
  readonly waits: OpenWaits;
}

/** Kinds of calls during which a turn's own time stands still. */
const RESTING: ReadonlySet<CallKind> = new Set(["wait", "sleep"]);

/** Tells whether a turn rests: it waits for its caller and nothing else goes on in it, or its time stands still. */
export class Quiescence {
  readonly #options: QuiescenceOptions;
  readonly #idleProbe: IdleProbe;
  readonly #sleeps = new Sleeps();
  /** Until when the turn slept when it was last looked at. */
  #seenWakeAt: number | undefined;
  /** How many calls are open during which time stands still. */
  #resting = 0;
  /** How many questions and sleeps are so new that their code may be about to go on with something else. */
  #asking = 0;
  #changing = false;
  #stopped = false;

  constructor(options: QuiescenceOptions) {
    this.#options = options;
    const changed = (): void => {
      this.#seenWakeAt = this.#wakeAt;
      options.changed();
    };
    this.#idleProbe = new IdleProbe({ ...options, changed });
  }

  /**
   * Whether nothing goes on in the turn until its caller answers; `undefined` while that is not known:
   * the handler, run again, has not come to where it was, or has only just asked.
   */
  get parked(): boolean | undefined {
    const { root, deliveries, activity, waits } = this.#options;
    if (waits.size === 0 || deliveries.owes) return false;
    if (waits.anyAhead) return undefined;
    if (!activity.none || !deliveries.none || !root.waits) return false;
    return this.#asking === 0 ? true : undefined;
  }

  /**
   * Until when nothing goes on in the turn unless its caller does something, in milliseconds since 1970;
   * `undefined` when it does not sleep or its code has not had the time to go on. Only known of a turn
   * that sleeps for long.
   */
  get wakeAt(): number | undefined {
    return this.#seenWakeAt === this.#wakeAt ? this.#seenWakeAt : undefined;
  }

  /** Whether the turn only waits or sleeps, so that its time does not run. */
  get resting(): boolean {
    return this.#resting > 0 && this.#options.root.rests;
  }

  /** Notes that a call is open. */
  opened({ kind }: OpenCall): void {
    if (RESTING.has(kind)) this.#resting += 1;
    this.#change();
  }

  /** Notes that a call is not open any more. */
  closed({ callId, kind }: OpenCall): void {
    if (RESTING.has(kind)) this.#resting -= 1;
    if (kind === "sleep") this.#sleeps.remove(callId);
    this.#change();
  }

  /** Notes that a call waits for another one of the turn before it begins, or does so no more. */
  queue(call: OpenCall, isQueued: boolean): void {
    call.queued = isQueued;
    this.#change();
    if (isQueued) this.#idleProbe.lookSoon();
  }

  /** Notes that a wait is open and can be answered. */
  waiting(wait: LiveWait): void {
    const { activity, waits } = this.#options;
    waits.add(wait);
    // What is asked elsewhere is asked by no code here.
    if (activity.has(scopeOf(wait.callId))) this.#hearOut();
    this.#idleProbe.lookSoon();
  }

  /** Notes that a call sleeps until a time. */
  sleeping(callId: CallId, until: number, now: number): void {
    this.#sleeps.add(callId, until, now);
    if (this.#sleeps.anyLong) this.#hearOut();
  }

  /** The turn's code has something to go on with, so that it is worth a look when it has done so. */
  stirred(): void {
    const { deliveries, waits } = this.#options;
    this.#seenWakeAt = undefined;
    const mayRest = waits.anyLive || this.#sleeps.anyLong;
    if (mayRest || deliveries.missing !== undefined) this.#idleProbe.lookSoon();
  }

  /** The turn has ended, or is let go of. */
  stop(): void {
    this.#stopped = true;
    this.#options.waits.clear();
    this.#idleProbe.stop();
  }

  /** Gives code that has asked or sleeps a turn of the event loop, in which it may go on beside it. */
  #hearOut(): void {
    const { environment, changed } = this.#options;
    this.#asking += 1;
    environment.macrotask(() => {
      this.#asking -= 1;
      if (this.#stopped) return;
      if (this.#sleeps.anyLong) this.#idleProbe.lookSoon();
      changed();
    });
  }

  get #wakeAt(): number | undefined {
    if (!this.#sleeps.anyLong || this.#asking > 0) return undefined;
    const { root, deliveries, activity, waits } = this.#options;
    const rests = activity.none && deliveries.none && !deliveries.owes && !waits.anyAhead;
    return rests && root.rests ? this.#sleeps.firstEnd : undefined;
  }

  /** Tells of changes once for all that change together. */
  #change(): void {
    if (this.#changing) return;
    this.#changing = true;
    queueMicrotask(() => {
      this.#changing = false;
      if (!this.#stopped) this.#options.changed();
    });
  }
}

/** So long has a sleep to be that its turn is let go of meanwhile, in milliseconds: less is not worth the two commits. */
export const LONG_SLEEP_MS = 5_000;

/** The sleeps that a turn has open. */
class Sleeps {
  readonly #ends = new Map<CallId, number>();
  readonly #long = new Set<CallId>();

  /** Whether one of them was long when it began, or when the code came to it again. */
  get anyLong(): boolean {
    return this.#long.size > 0;
  }

  /** When the first one ends, in milliseconds since 1970; `undefined` when there is none. */
  get firstEnd(): number | undefined {
    return this.#ends.size === 0 ? undefined : Math.min(...this.#ends.values());
  }

  /** The code sleeps from now on until a time. */
  add(callId: CallId, until: number, now: number): void {
    this.#ends.set(callId, until);
    if (until - now >= LONG_SLEEP_MS) this.#long.add(callId);
  }

  /** A sleep is over, or given up. */
  remove(callId: CallId): void {
    this.#ends.delete(callId);
    this.#long.delete(callId);
  }
}
