import type { RunId } from "../../protocol/ids.ts";
import type { RunContext } from "../run-context.ts";

export interface WakeTimerOptions {
  readonly context: RunContext;
  /** Continues a run; does nothing for a run in memory, which wakes by itself. Never rejects. */
  readonly wake: (runId: RunId) => Promise<void>;
}

/** The number of runs that are woken concurrently. */
const AT_ONCE = 64;

/** The delay before a log that could not be read is read again, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Wakes the sleeping runs that are not in memory. All of them share one timer, which is set to the first wake time in
 * the log's index.
 */
export class WakeTimer {
  readonly #options: WakeTimerOptions;
  /** All runs with a wake time up to this one have been woken. */
  #wokenMs = 0;
  /** When the timer fires. */
  #setMs = Infinity;
  #stopTimer = (): void => {};
  #stopped = false;

  constructor(options: WakeTimerOptions) {
    this.#options = options;
  }

  /** Wakes all runs whose wake time has passed, and from now on each run at its wake time. */
  async start(): Promise<void> {
    const nowMs = this.#options.context.environment.now();
    this.#wokenMs = 0;
    await this.#wakeUntil(nowMs);
    await this.#wakeFromFuture(nowMs);
  }

  /** Registers a sleeping run that was passivated. */
  add(wakeAtMs: number): void {
    // A wake time in the past is possible only after the clock was set back.
    this.#wokenMs = Math.min(this.#wokenMs, wakeAtMs - 1);
    this.#set(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
  }

  async #wakeUntil(notAfter: number): Promise<void> {
    const { context, wake } = this.#options;
    const { log, environment } = context;
    const after = this.#wokenMs;
    this.#wokenMs = notAfter;
    try {
      const due = await log.asleep({ after, notAfter });
      await inLanes(due, AT_ONCE, ({ runId }) => wake(runId));
      const [next] = await log.asleep({ after: this.#wokenMs, limit: 1 });
      if (next?.wakeAt !== undefined) this.#set(next.wakeAt);
    } catch (error) {
      this.#wokenMs = Math.min(this.#wokenMs, after);
      this.#set(environment.now() + RETRY_MS);
      throw error;
    }
  }

  /**
   * Wakes the runs whose sleep started at a time that is still in the future: the clock was set back since.
   * Their code then limits the sleep to the requested duration.
   */
  async #wakeFromFuture(nowMs: number): Promise<void> {
    const { context, wake } = this.#options;
    const { log } = context;
    const isFromFuture = async (runId: RunId): Promise<boolean> => {
      return ((await log.run(runId))?.updatedAt ?? 0) > nowMs;
    };
    const { runs } = await log.list({ limit: 1 });
    if ((runs[0]?.updatedAt ?? 0) <= nowMs) return;
    await inLanes(await log.asleep({ after: nowMs }), AT_ONCE, async ({ runId }) => {
      if (await isFromFuture(runId)) await wake(runId);
    });
  }

  #set(atMs: number): void {
    if (this.#stopped || atMs >= this.#setMs) return;
    const { environment, telemetry } = this.#options.context;
    this.#stopTimer();
    this.#setMs = atMs;
    this.#stopTimer = environment.timer(Math.max(atMs - environment.now(), 0), () => {
      this.#setMs = Infinity;
      // The time has passed, even if the clock was set back in the meantime.
      this.#wakeUntil(Math.max(atMs, environment.now())).catch((error: unknown) =>
        telemetry.fault("sleeping runs could not be woken", error),
      );
    });
  }
}

/** Processes all items in order, with limited concurrency. */
export async function inLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
}
