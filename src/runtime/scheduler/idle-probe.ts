import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Deliveries } from "./delivery-queue.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { Stirrings } from "./activity.ts";

/** What has to be known of a turn to see it come to rest, and whom to tell. */
export interface LullOptions {
  readonly recorder: Recorder;
  readonly environment: Environment;
  readonly deliveries: Deliveries;
  readonly stirrings: Stirrings;
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
export class Lull {
  readonly #options: LullOptions;
  /** How much had stirred when the look under way was asked for. */
  #since: number | undefined;
  #stall: { readonly missing: CallId; readonly stop: () => void } | undefined;
  #stopped = false;

  constructor(options: LullOptions) {
    this.#options = options;
  }

  /** Looks once everything is committed and the code has had a turn of the event loop. */
  lookSoon(): void {
    if (this.#since !== undefined) return;
    const { recorder, environment, stirrings } = this.#options;
    this.#since = stirrings.count;
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
    const { stirrings, deliveries, changed } = this.#options;
    const since = this.#since ?? 0;
    this.#since = undefined;
    if (this.#stopped) return;
    stirrings.calmSince(since, (scope) => deliveries.waitsIn(scope));
    if (stirrings.count > since) this.lookSoon();
    this.#watch(stirrings.none ? deliveries.missing : undefined);
    changed();
  }

  #watch(missing: CallId | undefined): void {
    if (missing === this.#stall?.missing) return;
    this.#stall?.stop();
    this.#stall = undefined;
    if (missing === undefined) return;
    const { environment, deliveries, stirrings, stalled } = this.#options;
    const check = (): void => {
      this.#stall = undefined;
      if (deliveries.missing === missing && stirrings.none) stalled(missing);
    };
    this.#stall = { missing, stop: environment.timer(STALL_MS, check) };
  }
}
