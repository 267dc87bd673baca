/** Whether more is to be written; `later` if that is not possible now, for example because another node does it. */
export type IndexProgress = "done" | "more" | "later";

/**
 * Writes in the background what makes questions fast, the words of runs or the sums of statistics: some at a time, with pauses in which
 * others use the log.
 */
export class BackgroundIndexer {
  readonly #next: () => Promise<IndexProgress>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<IndexProgress> | undefined;
  #isClosed = false;

  /** `next` writes some of it. */
  constructor(next: () => Promise<IndexProgress>) {
    this.#next = next;
  }

  /** Something has changed, or may have been changed by a process before. */
  wake(delayMs: number = DELAY_MS): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#work(), delayMs);
    this.#timer.unref();
  }

  /** Resolves when everything is written that was there at the call. */
  async settle(): Promise<void> {
    while (!this.#isClosed) {
      if (this.#running === undefined) {
        const progress = await this.#run();
        if (progress === "done") return;
        if (progress === "later")
          await new Promise<void>((resolve) => {
            setTimeout(resolve, PAUSE_MS);
          });
      } else await this.#running.catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => {});
  }

  async #work(): Promise<void> {
    this.#timer = undefined;
    if (this.#running !== undefined || this.#isClosed) return;
    try {
      const progress = await this.#run();
      if (progress !== "done") this.wake(progress === "more" ? PAUSE_MS : DELAY_MS);
    } catch {
      // The log does not take anything now; questions look at what is not written yet itself.
      this.wake(FAILED_MS);
    }
  }

  async #run(): Promise<IndexProgress> {
    this.#running = this.#next();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }
}

/** The words of a run that goes on changing are written once in this time. */
const DELAY_MS = 500;
const PAUSE_MS = 20;
const FAILED_MS = 10_000;
