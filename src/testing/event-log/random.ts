/** Pseudorandom numbers that are the same in every test run. */
export interface Random {
  /** A whole number from 0 (included) to `limit` (excluded). */
  below(limit: number): number;
}

/** Creates a generator from a seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    below(limit) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
    },
  };
}
