import type { RunId } from "../../protocol/ids.ts";
import type { RunContext } from "../run-context.ts";
import { WakeTimer, inLanes } from "./wake-timer.ts";

/** What a recovery needs, and how one run is recovered. */
export interface RecoveryOptions {
  readonly context: RunContext;
  /** Has a run go on with what is open in it. Never rejects. */
  readonly recoverRun: (runId: RunId) => Promise<void>;
  /** Removes what a crash or a failed commit left behind. */
  readonly cleanUp: () => Promise<void>;
}

/** So many runs are continued at a time: enough that each commit carries many of them. */
const AT_ONCE = 64;

/** How often a log that failed is asked whether it takes events again, in milliseconds. */
const PROBE_MS = 1_000;

/**
 * Looks after every request that is open and has nobody who works for it. What ran is continued, and what
 * was queued is started; what sleeps is woken in time. What waits is not even looked at until its answer
 * comes.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #wakeTimer: WakeTimer;
  #stopProbe: (() => void) | undefined;
  #stopped = false;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#wakeTimer = new WakeTimer({ context: options.context, wake: options.recoverRun });
  }

  /** Resolves when every open request is continued, started, or will be woken. */
  async run(): Promise<void> {
    const { context, recoverRun, cleanUp } = this.#options;
    const runs = new Set((await context.log.open()).map(({ runId }) => runId));
    await inLanes([...runs], AT_ONCE, recoverRun);
    await this.#wakeTimer.start();
    await cleanUp();
  }

  /** Once the log takes events again, has everything go on that a failed commit took along, as after a restart. */
  runWhenWritable(): void {
    const { log, environment, telemetry } = this.#options.context;
    if (this.#stopped) return;
    this.#stopProbe ??= environment.timer(PROBE_MS, () => {
      this.#stopProbe = undefined;
      if (!log.health().writable) this.runWhenWritable();
      else this.run().catch((error: unknown) => telemetry.fault("recovery failed", error));
    });
  }

  /** Notes that a run was passivated during a sleep. */
  sleeps(wakeAtMs: number): void {
    this.#wakeTimer.add(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#stopProbe?.();
    this.#wakeTimer.stop();
  }
}
