/** How much is borne from an agent elsewhere before a call of it ends with an error. */
export interface RemoteLimits {
  /** How long it may take to take a request, in milliseconds. Default 30 s. */
  readonly acceptMs: number;
  /** How long it may be out of reach afterwards. Default 2 min. */
  readonly unreachableMs: number;
  /** How long a connection may go without a sign of life before another is made. Default 45 s. */
  readonly idleMs: number;
  /** How long it may work without an event, however alive it seems. Default 10 min. */
  readonly silenceMs: number;
  /** How long it is told of an answer before the answer is refused for now. Default 10 s. */
  readonly answerMs: number;
  /** How long it is told, in the background, that a call was canceled. Default 10 s. */
  readonly cancelMs: number;
  /** Events of one call. Default 100,000. */
  readonly events: number;
  /** Bytes of one event. Default 1 Mi. */
  readonly eventBytes: number;
  /** Characters of all events of one call. Default 64 Mi. */
  readonly characters: number;
}

/** The limits that hold where none are given. */
export const remoteLimits: RemoteLimits = {
  acceptMs: 30_000,
  unreachableMs: 120_000,
  idleMs: 45_000,
  silenceMs: 600_000,
  answerMs: 10_000,
  cancelMs: 10_000,
  events: 100_000,
  eventBytes: 1_048_576,
  characters: 64 * 1_048_576,
};
