import type { RequestStatus } from "../../protocol/answers/status.ts";
import type { QueryParameters } from "../wire/wire.ts";

/** Limits of a followed stream. */
export interface FollowLimits {
  /** Reconnects after this time without a whole frame or heartbeat. Default 45 s. */
  readonly idleMs: number;
  /** Fails when the server was unreachable for this time. Default 2 min. */
  readonly unreachableMs: number;
  /** Fails when no event came for this time, even if the connection is alive. Default: never. */
  readonly silenceMs: number;
  /** Maximum bytes of an event. Default 1 Mi. */
  readonly eventBytes: number;
  /** Fails after this many events. Default: never. */
  readonly events: number;
  /** Fails after this many characters of events. Default: never. */
  readonly characters: number;
}

/** What to follow, and from where. */
export interface FollowSettings {
  readonly path: string;
  /** Sent with every connection. */
  readonly query?: QueryParameters;
  /** Where to begin; sent only until there is an event id to resume from. */
  readonly since?: number | undefined;
  /** Whether the frames are rows without ids; each connection then begins with the first row again. */
  readonly areRows?: boolean;
  /** The id of the newest known event; events up to it are skipped. */
  readonly after?: number | undefined;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<FollowLimits> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The number of open waits in the stream so far. Default: none. */
  openWaits?(): number;
  /**
   * Returns the request's progress, while a wait is open: a server ends a stream that contained the last
   * wait, but not one that started after it. Empty if the server does not tell it. Default: the server is not asked.
   */
  progress?(): Promise<Partial<Pick<RequestStatus, "last_event_id" | "status">> | undefined>;
}

/** The settings with their defaults. */
export type AllFollowSettings = FollowSettings &
  Required<Pick<FollowSettings, "openWaits" | "progress">> & { readonly limits: FollowLimits };

/** The read position of a followed stream. */
export interface ReadPosition {
  /** The id of the newest event. */
  after: number;
  /** The id of the newest event of this connection. A server without cursors starts again from the first event. */
  newest: number;
  /** The number of connections in a row without a new event, with the current one. */
  failures: number;
  /** The time of the newest event. */
  heardAt: number;
  /** The position as the server gave it; it can be after events that the server filters out. */
  lastEventId?: string;
  /** The time since which the server is unreachable. */
  downSince?: number;
  /** The totals so far. */
  events: number;
  characters: number;
}

/** The default limits. */
export const followLimits: FollowLimits = {
  idleMs: 45_000,
  unreachableMs: 120_000,
  silenceMs: Infinity,
  eventBytes: 1_048_576,
  events: Infinity,
  characters: Infinity,
};
