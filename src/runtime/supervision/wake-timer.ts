import type { RunId } from "../../protocol/ids.ts";
import type { RunContext } from "../run-context.ts";

/** What a wake timer needs. */
export interface WakeTimerOptions {
  readonly context: RunContext;
  /** Has a run go on; does nothing for one that is in memory and wakes by itself. Never rejects. */
  readonly wake: (runId: RunId) => Promise<void>;
}

/** So many runs are woken at a time. */
const AT_ONCE = 64;

/** After so long a log is asked again that could not be read, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Wakes the runs that sleep and are not in memory. However many there are, they have one timer, set to
 * the first time in the log's index.
 */
export class WakeTimer {
  readonly #options: WakeTimerOptions;
  /** All that was to wake until then has been woken. */
  #lookedMs = 0;
  /** When the timer fires. */
  #setMs = Infinity;
  #stopTimer = (): void => {};
  #stopped = false;

  constructor(options: WakeTimerOptions) {
    this.#options = options;
  }

  /** Wakes all that should have woken by now, and from then on whatever is due. */
  async start(): Promise<void> {
    this.#lookedMs = 0;
    await this.#look();
  }

  /** Takes note of a run that is let go of while it sleeps. */
  add(wakeAtMs: number): void {
    // Only a clock that was set back has a time to come before one at which everything was looked at.
    this.#lookedMs = Math.min(this.#lookedMs, wakeAtMs - 1);
    this.#set(wakeAtMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
  }

  async #look(): Promise<void> {
    const { context, wake } = this.#options;
    const { log, environment } = context;
    const after = this.#lookedMs;
    const notAfter = environment.now();
    this.#lookedMs = notAfter;
    try {
      const due = await log.asleep({ after, notAfter });
      await inLanes(due, AT_ONCE, ({ runId }) => wake(runId));
      const [next] = await log.asleep({ after: this.#lookedMs, limit: 1 });
      if (next?.wakeAt !== undefined) this.#set(next.wakeAt);
    } catch (error) {
      this.#lookedMs = Math.min(this.#lookedMs, after);
      this.#set(environment.now() + RETRY_MS);
      throw error;
    }
  }

  #set(atMs: number): void {
    if (this.#stopped || atMs >= this.#setMs) return;
    const { environment, telemetry } = this.#options.context;
    this.#stopTimer();
    this.#setMs = atMs;
    this.#stopTimer = environment.timer(Math.max(atMs - environment.now(), 0), () => {
      this.#setMs = Infinity;
      this.#look().catch((error: unknown) => telemetry.fault("runs that sleep could not be woken", error));
    });
  }
}

/** Does something for each of many, so many at a time, in their order. */
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
