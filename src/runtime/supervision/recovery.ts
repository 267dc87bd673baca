import type { RequestEntry } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunContext } from "../run-context.ts";
import { WakeTimer, inLanes } from "./wake-timer.ts";

/** What a recovery needs, and how one run is recovered. */
export interface RecoveryOptions {
  readonly context: RunContext;
  /** Has a run go on with what is open in it. Never rejects. */
  readonly recoverRun: (runId: RunId, alone: boolean) => Promise<void>;
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
    this.#wakeTimer = new WakeTimer({
      context: options.context,
      wake: (runId) => options.recoverRun(runId, false),
    });
  }

  /**
   * What a new process does. Resolves when every open request is continued, started, or will be woken; after several
   * deaths in succession, when the first suspect is about to be continued.
   */
  async start(): Promise<void> {
    const { context, recoverRun } = this.#options;
    const open = await context.log.open();
    // A turn that was the only one under way is the one that ended the process, if a turn did.
    const alone = open.filter(({ phase }) => phase === "running").length === 1;
    await inLanes(runsOf(open), AT_ONCE, (runId) => recoverRun(runId, alone));
    await context.gate.open();
    await this.#finish();
  }

  /** Continues what a failed commit took along. */
  async #run(): Promise<void> {
    const { context, recoverRun } = this.#options;
    await inLanes(runsOf(await context.log.open()), AT_ONCE, (runId) => recoverRun(runId, false));
    await this.#finish();
  }

  async #finish(): Promise<void> {
    await this.#wakeTimer.start();
    await this.#options.cleanUp();
  }

  /** Once the log takes events again, has everything go on that a failed commit took along, as after a restart. */
  runWhenWritable(): void {
    const { log, environment, telemetry } = this.#options.context;
    if (this.#stopped) return;
    this.#stopProbe ??= environment.timer(PROBE_MS, () => {
      this.#stopProbe = undefined;
      if (!log.health().writable) this.runWhenWritable();
      else this.#run().catch((error: unknown) => telemetry.fault("recovery failed", error));
    });
  }

  /** Notes that a run was passivated during a sleep. */
  sleeps(wakeAtMs: number): void {
    this.#wakeTimer.add(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#options.context.gate.stop();
    this.#stopProbe?.();
    this.#wakeTimer.stop();
  }
}

function runsOf(requests: readonly RequestEntry[]): readonly RunId[] {
  return [...new Set(requests.map(({ runId }) => runId))];
}
