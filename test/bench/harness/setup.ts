/** The effort of the measurements. */
export interface Setup {
  /** Whether fewer rows and rounds of slow measurements are enough. */
  readonly isQuick: boolean;
  readonly rounds: number;
  /** The duration of one round per server. */
  readonly roundMs: number;
  /**
   * Turns of each server before its first round. It is not a time: a slow server would then be less warm, and
   * after six seconds a tenth of the CPU time is still the compiler's.
   */
  readonly warmUpTurns: number;
  /** Rounds of the measurements that take longer. */
  readonly longRounds: number;
  /** The numbers of clients besides 32. */
  readonly concurrencies: readonly number[];
  /** The number of events of the long run. */
  readonly longRun: number;
  /** The number of the late run. */
  readonly lateRun: number;
  readonly readers: number;
  /** Whether servers of other frameworks are measured too. */
  readonly peers?: boolean;
  /** The directory that keeps what takes long to fill, for the next time. */
  readonly store?: string;
  /** How many runs a store of years has. */
  readonly runs?: number;
}

/** The settings for published figures: ten to twelve minutes. */
export const THOROUGH: Setup = {
  isQuick: false,
  rounds: 15,
  roundMs: 600,
  warmUpTurns: 10_000,
  longRounds: 7,
  concurrencies: [1, 256],
  longRun: 1_000_000,
  lateRun: 100_000,
  readers: 2_000,
};

/** Enough to find large deviations: two minutes. */
export const QUICK: Setup = {
  isQuick: true,
  rounds: 5,
  roundMs: 400,
  warmUpTurns: 3_000,
  longRounds: 3,
  concurrencies: [],
  longRun: 100_000,
  lateRun: 20_000,
  readers: 2_000,
};
