import type { RequestId, RunId } from "../protocol/ids.ts";
import type { LoggedEvents } from "../protocol/events/texts.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { LoggingLevel } from "../protocol/requests/requests.ts";

/** The request or run of an id. */
export type Address =
  | {
      readonly kind: "request";
      readonly runId: RunId;
      readonly requestId: RequestId;
      readonly agent: string;
      /** The owner of the run; absent for `default`. */
      readonly owner?: string;
      /** The id of the event, if the request is a message. */
      readonly messageEvent?: number;
    }
  | {
      readonly kind: "run";
      readonly runId: RunId;
      readonly agent: string;
      /** The owner of the run; absent for `default`. */
      readonly owner?: string;
    };

/** Selects the events for a reader. Events that every reader needs are never filtered out. */
export interface EventFilter {
  readonly types?: readonly EventType[];
  readonly maxDepth?: number;
  readonly agent?: string;
  /** Without it, and without `types`, the level of the request applies. */
  readonly level?: LoggingLevel;
}

/** Which part of the events of a run is read. */
export interface ReadEventsOptions {
  /** Events with a greater id. */
  readonly after: number;
  /** Default 1,000. */
  readonly limit?: number;
  /** Default 1 MiB. */
  readonly limitBytes?: number;
  readonly filter?: EventFilter;
}

/** A part of the events of a run. */
export interface EventPage {
  /** Encoded events, oldest first. */
  readonly events: readonly string[];
  /** The start of the next page: after everything read, including filtered events. */
  readonly cursor: number;
  /** Whether there are more events to read now. */
  readonly more: boolean;
}

/** Where a stream of events begins, and which events it has. */
export interface FollowOptions {
  /** Events with a greater id, at most the newest one. Default: the current segment. */
  readonly after?: number;
  /** The id of the newest event that the reader has got before; `conflict` if the log does not reach that far. */
  readonly seen?: number;
  /**
   * Stays open across waits and turns. Default false: the stream ends when the request or run waits for input or
   * done.
   */
  readonly forever?: boolean;
  readonly filter?: EventFilter;
  readonly signal?: AbortSignal;
}

/** A page of a stream. */
export interface FeedPage extends EventPage {
  /** Whether it is known to be the last page; a stream may also end without one. */
  readonly last: boolean;
}

/** A stream of events. */
export interface Feed {
  /** True if no event will ever come: the request is completed and has nothing after the cursor. */
  readonly finished: boolean;
  /** Starts a reader that calls `sink` with each page. A page is empty if a filter drops all its events. */
  read(sink: PageSink): FeedReader;
  /**
   * The same pages as an iterable: in order, without duplicates, until the stream ends or its signal aborts.
   */
  readonly pages: AsyncIterable<FeedPage>;
}

/** A page as a reader pushes it: not yet encoded. */
export interface PushedPage extends Omit<FeedPage, "events"> {
  readonly events: LoggedEvents;
}

/** What receives the pages of a stream. */
export interface PageSink {
  /** Receives the next page. Returns false if it accepts no more until it calls `resume` of its reader. */
  page(page: PushedPage): boolean;
  /** The stream has ended: `error` is set when reading failed. Called once, also after `stop`. */
  end(error?: unknown): void;
}

/** A reader of a stream. */
export interface FeedReader {
  /** Continues after a page for which the sink returned false. */
  resume(): void;
  /** Ends the stream. */
  stop(): void;
}

/** How the answers of a request are followed. */
export interface AnswersOptions {
  /**
   * The id of the newest event that the reader has got before: only later events follow, and it is a `conflict` if the
   * log does not reach that far.
   */
  readonly seen?: number;
  readonly filter?: EventFilter;
  readonly signal?: AbortSignal;
}
