/** Settings for the calls of one remote agent. */
export interface RemoteSettings {
  /** The local name of the agent. */
  readonly name: string;
  readonly metadata?: boolean;
  /** Whether its server is told for whom requests are. */
  readonly isPeer: boolean;
  readonly artifactOrigins?: readonly string[];
  readonly limits: RemoteLimits;
}

/** Limits for a remote agent; a call that exceeds one ends with an error. */
export interface RemoteLimits {
  /** Maximum time to accept a request, in milliseconds. Default 30 s. */
  readonly acceptMs: number;
  /** Maximum time that the server may be unreachable afterwards. Default 2 min. */
  readonly unreachableMs: number;
  /** Reconnects after this time without any bytes. Default 45 s. */
  readonly idleMs: number;
  /** Maximum time without an event, even if the connection is alive. Default 10 min. */
  readonly silenceMs: number;
  /** Maximum time to deliver an answer before it is refused for now. Default 10 s. */
  readonly answerMs: number;
  /** Maximum time to deliver a cancel in the background. Default 10 s. */
  readonly cancelMs: number;
  /** Maximum events of one call. Default 100,000. */
  readonly events: number;
  /** Maximum bytes of one event. Default 1 Mi. */
  readonly eventBytes: number;
  /** Maximum characters of all events of one call. Default 64 Mi. */
  readonly characters: number;
}

/** The default limits. */
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
