/** Whether more is to be written; `later` if that is not possible now, for example because another node does it. */
export type IndexProgress = "done" | "more" | "later";

/**
 * Writes in the background what makes questions fast, the words of runs or the sums of statistics: some at a time, with pauses in which
 * others use the log. It begins some seconds after a change or after many changes, so that what goes on changing is written seldom.
 */
export class BackgroundIndexer {
  readonly #next: () => Promise<IndexProgress>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<IndexProgress> | undefined;
  /** Since the last beginning. */
  #changes = 0;
  #isClosed = false;

  /** `next` writes some of it. */
  constructor(next: () => Promise<IndexProgress>) {
    this.#next = next;
  }

  /** Something was written, or may have been by a process before; `changes` of it change what the index has. */
  wake(changes = 1): void {
    this.#changes += changes;
    if (this.#running !== undefined) return;
    if (this.#changes - changes < MOST_CHANGES && this.#changes >= MOST_CHANGES) this.#plan(PAUSE_MS);
    else if (this.#timer === undefined) this.#plan(DELAY_MS);
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

  #plan(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#work(), delayMs);
    this.#timer.unref();
  }

  async #work(): Promise<void> {
    this.#timer = undefined;
    if (this.#running !== undefined || this.#isClosed) return;
    try {
      const progress = await this.#run();
      if (progress === "more" || this.#changes >= MOST_CHANGES) this.#plan(PAUSE_MS);
      else if (progress === "later" || this.#changes > 0) this.#plan(DELAY_MS);
    } catch {
      // The log does not take anything now; questions look at what is not written yet itself.
      this.#plan(FAILED_MS);
    }
  }

  async #run(): Promise<IndexProgress> {
    this.#changes = 0;
    this.#running = this.#next();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }
}

/** What goes on changing is written once in this time. */
const DELAY_MS = 5_000;
/** Sooner if so much has changed: a question looks at each run that is not written yet. */
const MOST_CHANGES = 128;
const PAUSE_MS = 20;
const FAILED_MS = 10_000;
