/** The effort of the measurements. */
export interface Setup {
  readonly rounds: number;
  /** The duration of one round per server. */
  readonly roundMs: number;
  readonly warmUpMs: number;
  readonly concurrencies: readonly number[];
  /** The number of events of the long run. */
  readonly longRun: number;
  /** The number of the late run. */
  readonly lateRun: number;
  readonly readers: number;
}

/** The settings for published figures: some minutes. */
export const THOROUGH: Setup = {
  rounds: 15,
  roundMs: 1_000,
  warmUpMs: 3_000,
  concurrencies: [1, 32, 256],
  longRun: 1_000_000,
  lateRun: 100_000,
  readers: 2_000,
};

/** Enough to find large deviations. */
export const QUICK: Setup = {
  rounds: 5,
  roundMs: 500,
  warmUpMs: 1_500,
  concurrencies: [32],
  longRun: 100_000,
  lateRun: 20_000,
  readers: 500,
};
