import type { Clock } from "../wire/clock.ts";

/** The document of a browser, as far as it is used. */
type Page = EventTarget & { readonly hidden: boolean };

/**
 * Notices when the page is hidden for 10 s. A browser allows six connections to a server, so streams of hidden pages
 * must not hold them; otherwise the seventh tab waits for ever.
 */
export class PageWatch {
  readonly #page: Page | undefined = (globalThis as { readonly document?: Page }).document;
  readonly #clock: Clock;
  #away: AbortController = new AbortController();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#page?.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  /** Whether streams must be closed. */
  get isAway(): boolean {
    return this.#away.signal.aborted;
  }

  /** The signal for a connection: it aborts with `signal`, and when the page is hidden for 10 s. */
  with(signal: AbortSignal | undefined): AbortSignal | undefined {
    if (this.#page === undefined) return signal;
    return signal === undefined ? this.#away.signal : AbortSignal.any([signal, this.#away.signal]);
  }

  /** Resolves when the page is shown, or the signal aborts. */
  async shown(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#page?.hidden !== true || signal?.aborted === true) resolve();
    };
    this.#page?.addEventListener("visibilitychange", look);
    signal?.addEventListener("abort", look);
    look();
    await promise;
    this.#page?.removeEventListener("visibilitychange", look);
    signal?.removeEventListener("abort", look);
    this.#away = new AbortController();
    this.#look();
  }

  stop(): void {
    this.#page?.removeEventListener("visibilitychange", this.#look);
    this.#stopTimer?.();
  }

  readonly #look = (): void => {
    this.#stopTimer?.();
    this.#stopTimer =
      this.#page?.hidden === true ? this.#clock.timer(AWAY_MS, () => this.#away.abort()) : undefined;
  };
}

const AWAY_MS = 10_000;
