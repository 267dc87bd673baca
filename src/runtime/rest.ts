import type { Environment } from "../ports/environment.ts";
import type { CallId } from "../protocol/ids.ts";
import { scopeOf } from "./call-id.ts";
import type { Deliveries } from "./deliveries.ts";
import { Lull } from "./lull.ts";
import type { CallKind, LiveWait, OpenCall } from "./open-call.ts";
import type { Recorder } from "./recorder.ts";
import type { Stirrings } from "./stirrings.ts";
import type { Waits } from "./waits.ts";

/** What has to be known of a turn to tell whether it rests, and whom to tell. */
export interface RestOptions {
  readonly root: OpenCall;
  readonly recorder: Recorder;
  readonly environment: Environment;
  readonly deliveries: Deliveries;
  readonly stirrings: Stirrings;
  readonly waits: Waits;
  /** Called when the turn may have come to rest, or go on. */
  readonly changed: () => void;
  /** Called when the code, run again, waits for what lies behind a call that it does not make. */
  readonly stalled: (missing: CallId) => void;
}

/** Kinds of calls during which a turn's own time stands still. */
const RESTING: ReadonlySet<CallKind> = new Set(["wait", "sleep"]);
const WAITING: ReadonlySet<CallKind> = new Set(["wait"]);

/** Tells whether a turn rests: it waits for its caller and nothing else goes on in it, or its time stands still. */
export class Rest {
  readonly #options: RestOptions;
  readonly #lull: Lull;
  /** How many calls are open during which time stands still. */
  #resting = 0;
  /** How many questions are so new that the code which asked may be about to go on with something else. */
  #asking = 0;
  #changing = false;
  #stopped = false;

  constructor(options: RestOptions) {
    this.#options = options;
    this.#lull = new Lull(options);
  }

  /**
   * Whether nothing goes on in the turn until its caller answers; `undefined` while that is not known:
   * the handler, run again, has not come to where it was, or has only just asked.
   */
  get parked(): boolean | undefined {
    const { root, deliveries, stirrings, waits } = this.#options;
    if (!waits.any || deliveries.owes) return false;
    if (waits.anyAhead) return undefined;
    if (!stirrings.none || !deliveries.none || !root.rests(WAITING)) return false;
    return this.#asking === 0 ? true : undefined;
  }

  /** Whether the turn only waits or sleeps, so that its time does not run. */
  get resting(): boolean {
    return this.#resting > 0 && this.#options.root.rests(RESTING);
  }

  /** Notes that a call is open. */
  opened({ kind }: OpenCall): void {
    if (RESTING.has(kind)) this.#resting += 1;
    this.#change();
  }

  /** Notes that a call is not open any more. */
  closed({ kind }: OpenCall): void {
    if (RESTING.has(kind)) this.#resting -= 1;
    this.#change();
  }

  /** Notes that a call waits for another one of the turn before it begins, or does so no more. */
  queue(call: OpenCall, isQueued: boolean): void {
    call.queued = isQueued;
    this.#change();
    if (isQueued) this.#lull.lookSoon();
  }

  /** Notes that a wait is open and can be answered. */
  waiting(wait: LiveWait): void {
    const { stirrings, waits } = this.#options;
    waits.add(wait);
    // What is asked elsewhere is asked by no code here.
    if (stirrings.has(scopeOf(wait.callId))) this.#hearOut();
    this.#lull.lookSoon();
  }

  /** The turn's code has something to go on with, so that it is worth a look when it has done so. */
  stirred(): void {
    const { deliveries, waits } = this.#options;
    if (waits.anyLive || deliveries.missing !== undefined) this.#lull.lookSoon();
  }

  /** The turn has ended, or is let go of. */
  stop(): void {
    this.#stopped = true;
    this.#options.waits.clear();
    this.#lull.stop();
  }

  /** Gives code that has asked a turn of the event loop, in which it may go on instead of waiting. */
  #hearOut(): void {
    const { environment, changed } = this.#options;
    this.#asking += 1;
    environment.macrotask(() => {
      this.#asking -= 1;
      if (!this.#stopped) changed();
    });
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
