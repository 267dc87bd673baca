/** How thoroughly to measure. */
export interface Setup {
  readonly rounds: number;
  /** How long a server is measured in one round. */
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly concurrencies: readonly number[];
  /** Events of the long run. */
  readonly longRun: number;
  /** The number of the run that is started late. */
  readonly lateRun: number;
  readonly readers: number;
}

/** What a figure that is quoted takes: some minutes. */
export const THOROUGH: Setup = {
  rounds: 15,
  roundMs: 1_000,
  warmUpMs: 3_000,
  concurrencies: [1, 32, 256],
  longRun: 1_000_000,
  lateRun: 100_000,
  readers: 2_000,
};

/** Enough to see whether something is far off. */
export const QUICK: Setup = {
  rounds: 5,
  roundMs: 500,
  warmUpMs: 1_500,
  concurrencies: [32],
  longRun: 100_000,
  lateRun: 20_000,
  readers: 500,
};
