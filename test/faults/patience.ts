/** Aborts a request when nothing was received for a time. */
export class Patience {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    if (ms === Infinity) return;
    this.#timer = setTimeout(() => this.#abort.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  renew(): void {
    this.#timer?.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
