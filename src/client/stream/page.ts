import type { Clock } from "../wire/clock.ts";

/** The document of a browser, as far as it is used. */
type Page = EventTarget & { readonly hidden: boolean };

/**
 * Notices when the page is hidden for 10 s. A browser allows six connections to a server, so streams of hidden pages
 * must not hold them; otherwise the seventh tab waits forever.
 */
export class PageWatch {
  readonly #page: Page | undefined = (globalThis as { readonly document?: Page }).document;
  readonly #clock: Clock;
  #away: AbortController = new AbortController();
  #back: PromiseWithResolvers<void> = Promise.withResolvers();
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

  /** Resolves when the page, which is away, is shown. */
  get back(): Promise<void> {
    return this.#back.promise;
  }

  /** The signal for a connection: it aborts with `signal`, and when the page is hidden for 10 s. */
  with(signal: AbortSignal | undefined): AbortSignal | undefined {
    if (this.#page === undefined) return signal;
    return AbortSignal.any(signal ? [signal, this.#away.signal] : [this.#away.signal]);
  }

  stop(): void {
    this.#page?.removeEventListener("visibilitychange", this.#look);
    this.#stopTimer?.();
  }

  readonly #look = (): void => {
    this.#stopTimer?.();
    if (this.#page?.hidden === true) {
      this.#stopTimer = this.#clock.timer(AWAY_MS, () => this.#away.abort());
    } else if (this.isAway) {
      this.#away = new AbortController();
      this.#back.resolve();
      this.#back = Promise.withResolvers();
    }
  };
}

const AWAY_MS = 10_000;
