import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { Activity } from "./activity.ts";

/** What has to be known of a turn to see it come to rest, and whom to tell. */
export interface IdleProbeOptions {
  readonly recorder: Recorder;
  readonly environment: Environment;
  readonly deliveries: DeliveryQueue;
  readonly activity: Activity;
  /** Called when the turn may have come to rest, or go on. */
  readonly changed: () => void;
  /** Called when the code, run again, waits for what lies behind a call that it does not make. */
  readonly stalled: (missing: CallId) => void;
}

/**
 * So long may code that is run again rest before a call that the log has next, in milliseconds. It may
 * still be at something that is not seen from here.
 */
const STALL_MS = 60_000;

/** Looks whether a turn has come to rest, each time after its code has had the time to go on. */
export class IdleProbe {
  readonly #options: IdleProbeOptions;
  /** How much had stirred when the look under way was asked for. */
  #since: number | undefined;
  #stall: { readonly missing: CallId; readonly stop: () => void } | undefined;
  #stopped = false;

  constructor(options: IdleProbeOptions) {
    this.#options = options;
  }

  /** Looks once everything is committed and the code has had a turn of the event loop. */
  lookSoon(): void {
    if (this.#since !== undefined) return;
    const { recorder, environment, activity } = this.#options;
    this.#since = activity.count;
    recorder.committed().then(
      () => environment.macrotask(() => this.#look()),
      // The run hears of a failed commit by itself.
      () => {},
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#stall?.stop();
  }

  #look(): void {
    const { activity, deliveries, changed } = this.#options;
    const since = this.#since ?? 0;
    this.#since = undefined;
    if (this.#stopped) return;
    activity.calmSince(since, (scope) => deliveries.waitsIn(scope));
    if (activity.count > since) this.lookSoon();
    this.#watch(activity.none ? deliveries.missing : undefined);
    changed();
  }

  #watch(missing: CallId | undefined): void {
    if (missing === this.#stall?.missing) return;
    this.#stall?.stop();
    this.#stall = undefined;
    if (missing === undefined) return;
    const { environment, deliveries, activity, stalled } = this.#options;
    const check = (): void => {
      this.#stall = undefined;
      if (deliveries.missing === missing && activity.none) stalled(missing);
    };
    this.#stall = { missing, stop: environment.timer(STALL_MS, check) };
  }
}
