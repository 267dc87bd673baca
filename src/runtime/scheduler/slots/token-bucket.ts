import type { RateOptions } from "../../../ports/model.ts";

/**
 * Tokens that come back at a rate. It starts with one token only, because it does not know what an earlier process has
 * started just before.
 */
export class TokenBucket {
  readonly #limit: number;
  readonly #msPerToken: number;
  #tokens = 1;
  #atMs: number;

  constructor({ limit, perMs }: RateOptions, nowMs: number) {
    this.#limit = limit;
    this.#msPerToken = perMs / limit;
    this.#atMs = nowMs;
  }

  /** The time until there is a token, in milliseconds; 0 if there is one. */
  missingMs(nowMs: number): number {
    const filled = this.#tokens + (nowMs - this.#atMs) / this.#msPerToken;
    // Sums of fractions of a token may be a little below 1.
    if (filled >= 1 - ROUNDING) {
      this.#tokens = Math.min(Math.max(filled, 1), this.#limit);
      this.#atMs = nowMs;
      return 0;
    }
    return Math.ceil((1 - filled) * this.#msPerToken);
  }

  /** Takes a token, after `missingMs` was 0. */
  take(): void {
    this.#tokens -= 1;
  }
}

const ROUNDING = 1e-9;
