/** Limits of a turn, a run and the process. */
export interface Limits {
  /** Queued requests of one run, besides the running one. Default 8. */
  readonly queuedRequests: number;
  /** Unread messages of one run. Default 100. */
  readonly unreadMessages: number;
  /** Bytes of the unread messages of one run. Default 1 MiB. */
  readonly unreadBytes: number;
  /** Queued requests of one run that other actors sent. A sender waits until there is room. Default 100. */
  readonly queuedActorRequests: number;
  /** Bytes of all queued requests of one run. Default 4 MiB. */
  readonly queuedBytes: number;
  /** Uncommitted texts of one sequence (a turn, a child, a branch). Default 1,000. */
  readonly uncommittedTexts: number;
  /** Uncommitted characters of one sequence. Default 1 Mi. */
  readonly uncommittedCharacters: number;
  /** Uncommitted events and journal entries of a run before its calls wait. Default 10,000. */
  readonly uncommittedEntries: number;
  /** Maximum nesting of agent calls. Default 8. */
  readonly depth: number;
  /**
   * How often an agent may be among its own callers, directly or through others; actors with keys are not counted, because
   * each is another one. Default 4.
   */
  readonly selfCalls: number;
  /**
   * Agent calls in one turn, at all depths, without tools; one more ends it with `budget`. Default 10,000.
   */
  readonly agentCalls: number;
  /** Calls of one tool, or completions of one model, that wait for a slot in a process. Default 10,000. */
  readonly queuedCalls: number;
  /** Open questions of one turn, including its calls. Default 1,000. */
  readonly openWaits: number;
  /** Open sleeps and `receive`s of one turn, including its calls. Default 10,000. */
  readonly openSleeps: number;
  /** Open asks and tells of one turn, including its calls. Default 1,000. */
  readonly openAsks: number;
  /** Steps of one actor in a second that it tells itself, or that its own timers send; further ones wait. Default 100. */
  readonly ownSteps: number;
  /** Schedules of one run, those of the definition included. Default 1,000. */
  readonly schedules: number;
  /** Replies and cancels of one run that have not arrived; a run with more starts no turn. Default 10,000. */
  readonly outbox: number;
  /** Events in one run; a full run accepts no more turns. Default 1,000,000. */
  readonly runEvents: number;
  /**
   * Events of a run with a key. When it has more and is idle, its actor continues in a new run at the next request by the
   * key. Default 100,000.
   */
  readonly keyedRunEvents: number;
  /** Events of an open turn of a machine after which a checkpoint is written, from which on it is loaded. Default 250. */
  readonly checkpointEvents: number;
  /** Running time of a turn, without waiting and sleeping, in milliseconds. Default 30 minutes. */
  readonly turnMs: number;
  /**
   * Time of the cleanup steps of a turn together, waits for other actors included, in milliseconds. A restart begins it anew.
   * Default one minute.
   */
  readonly cleanupMs: number;
  /** Bytes of an agent's memory in a run. Default 1 MiB. */
  readonly memoryBytes: number;
  /** Bytes of all configurations of an agent or a run together. Default 256 KiB. */
  readonly configBytes: number;
  /** Bytes of one artifact. Default 32 MiB. */
  readonly artifactBytes: number;
  /** Files of clients that no request has attached yet, in all runs together. Default 1,000. */
  readonly unattachedFiles: number;
  /** Bytes of these files. Default 1 GiB. */
  readonly unattachedBytes: number;
  /**
   * Attempts of a call whose outcome is unknown, without those that other turns may have ended. Default 3.
   */
  readonly attempts: number;
  /**
   * How long a completion is tried again while its model is away, in milliseconds, unless its options say it. Default 24
   * hours.
   */
  readonly modelRetryForMs: number;
  /** The pause after the first failed attempt of a completion, in milliseconds; doubled for each further one. Default 500. */
  readonly modelRetryMinMs: number;
  /** The longest of these pauses, in milliseconds, unless the provider asks for a longer one. Default one minute. */
  readonly modelRetryMaxMs: number;
  /** The time until the first part of a model's answer, in milliseconds, unless the completion says it. Default one minute. */
  readonly modelFirstTokenMs: number;
  /** The time between two parts of a model's answer, in milliseconds, unless the completion says it. Default one minute. */
  readonly modelIdleMs: number;
  /** Idle or waiting runs in memory. Default 1,000. */
  readonly idleRuns: number;
}

/** The default limits. */
export const defaultLimits: Limits = {
  queuedRequests: 8,
  unreadMessages: 100,
  unreadBytes: 1_048_576,
  queuedActorRequests: 100,
  queuedBytes: 4 * 1_048_576,
  uncommittedTexts: 1_000,
  uncommittedCharacters: 1_048_576,
  uncommittedEntries: 10_000,
  depth: 8,
  selfCalls: 4,
  agentCalls: 10_000,
  queuedCalls: 10_000,
  openWaits: 1_000,
  openSleeps: 10_000,
  openAsks: 1_000,
  ownSteps: 100,
  schedules: 1_000,
  outbox: 10_000,
  runEvents: 1_000_000,
  keyedRunEvents: 100_000,
  checkpointEvents: 250,
  turnMs: 30 * 60_000,
  cleanupMs: 60_000,
  memoryBytes: 1_048_576,
  configBytes: 262_144,
  artifactBytes: 32 * 1_048_576,
  unattachedFiles: 1_000,
  unattachedBytes: 1_073_741_824,
  attempts: 3,
  modelRetryForMs: 24 * 3_600_000,
  modelRetryMinMs: 500,
  modelRetryMaxMs: 60_000,
  modelFirstTokenMs: 60_000,
  modelIdleMs: 60_000,
  idleRuns: 1_000,
};
