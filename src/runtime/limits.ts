/** What one turn, run or process may take at most. */
export interface Limits {
  /** Requests that wait for one run, beside the one that runs. Default 8. */
  readonly queuedRequests: number;
  /** Texts of one sequence (a turn, a child, a branch) that may wait for their commit. Default 1,000. */
  readonly uncommittedTexts: number;
  /** The same in characters. Default 1 Mi. */
  readonly uncommittedCharacters: number;
  /** Events and journal entries of a run that may wait for their commit before its turn calls for more. Default 10,000. */
  readonly uncommittedEntries: number;
  /** How deep agents may call each other. Default 8. */
  readonly depth: number;
  /** How often an agent may stand among its own callers, directly or through others. Default 4. */
  readonly selfCalls: number;
  /** Calls of agents in one turn, at all depths, tools not counted; one more ends it with `budget`. Default 10,000. */
  readonly agentCalls: number;
  /** Questions that one turn has open at once, its calls included. Default 1,000. */
  readonly openWaits: number;
  /** Events in one run, after which it takes no more turns. Default 1,000,000. */
  readonly runEvents: number;
  /** How long a turn may run, waiting and sleeping not counted, in milliseconds. Default 30 minutes. */
  readonly turnMs: number;
  /** Bytes that an agent may keep for a run. Default 1 MiB. */
  readonly memoryBytes: number;
  /** Bytes of the configuration of an agent or a run, all that was ever set together. Default 256 KiB. */
  readonly configBytes: number;
  /** Bytes of one artifact. Default 32 MiB. */
  readonly artifactBytes: number;
  /** How often a call whose outcome is unknown is tried, without the attempts that other turns may have ended. Default 3. */
  readonly attempts: number;
  /** Runs held in memory although they are idle or wait. Default 1,000. */
  readonly idleRuns: number;
}

/** The limits that hold where none are given. */
export const defaultLimits: Limits = {
  queuedRequests: 8,
  uncommittedTexts: 1_000,
  uncommittedCharacters: 1_048_576,
  uncommittedEntries: 10_000,
  depth: 8,
  selfCalls: 4,
  agentCalls: 10_000,
  openWaits: 1_000,
  runEvents: 1_000_000,
  turnMs: 30 * 60_000,
  memoryBytes: 1_048_576,
  configBytes: 262_144,
  artifactBytes: 32 * 1_048_576,
  attempts: 3,
  idleRuns: 1_000,
};
