/** The greatest of the values of the last minute or two. Reading it changes nothing, so everybody who scrapes sees each peak. */
export class RecentMaximum {
  readonly #now: () => number;
  #begunMs: number;
  #current = 0;
  #before = 0;

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#begunMs = now();
  }

  note(value: number): void {
    this.#turn();
    if (value > this.#current) this.#current = value;
  }

  /** 0 if there was none. */
  get value(): number {
    this.#turn();
    return Math.max(this.#current, this.#before);
  }

  /** Begins the next minute if one is over. */
  #turn(): void {
    const passedMs = this.#now() - this.#begunMs;
    if (passedMs < MINUTE_MS) return;
    this.#before = passedMs < 2 * MINUTE_MS ? this.#current : 0;
    this.#current = 0;
    this.#begunMs += passedMs - (passedMs % MINUTE_MS);
  }
}

const MINUTE_MS = 60_000;
