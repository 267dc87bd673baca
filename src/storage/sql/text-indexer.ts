/** Whether more words are to be written; `later` if that is not possible now, for example because another node does it. */
export type IndexProgress = "done" | "more" | "later";

/** Writes the words of runs that have changed, in the background: some at a time, with pauses in which others use the log. */
export class TextIndexer {
  readonly #next: () => Promise<IndexProgress>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<IndexProgress> | undefined;
  #isClosed = false;

  /** `next` writes those of some runs. */
  constructor(next: () => Promise<IndexProgress>) {
    this.#next = next;
  }

  /** Runs have changed, or may have been changed by a process before. */
  wake(delayMs: number = DELAY_MS): void {
    if (this.#timer !== undefined || this.#running !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#work(), delayMs);
    this.#timer.unref();
  }

  /** Resolves when the words of all runs are as they were at the call. */
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
      // The log does not take anything now; searches look at the runs themselves.
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
