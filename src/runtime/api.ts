import type { StoredArtifact } from "../ports/artifact-store.ts";
import type { LogHealth } from "../ports/event-log.ts";
import type { AgentDescriptor } from "../protocol/descriptor.ts";
import type { ArtifactId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { EventType } from "../protocol/events.ts";
import type { LoggingLevel, Request } from "../protocol/requests.ts";
import type { RequestStatus, RunPhase, RunSummary } from "../protocol/status.ts";

/** A running set of agents with one log: what every wire serves. Everything it throws is an AgentError. */
export interface Runtime {
  /** Name of the agent that the root routes go to. */
  readonly defaultAgent: string;

  /** The names of the served agents, in the order they were given. */
  readonly agents: readonly string[];

  /** What an agent says of itself; `not_found`, with the known names as hint, for an unknown one. */
  describe(agent: string): AgentDescriptor;

  /** Resolves when every request that was open at the start has been resumed, re-armed or ended. */
  ready(): Promise<void>;

  /**
   * Takes a request for an agent. Resolves when it is accepted, that is in the log, which is before
   * its turn starts if the run is busy.
   */
  process(agent: string, request: Request): Promise<Receipt>;

  /**
   * Waits for what acknowledges a receipt: for a turn its RequestStarted, for `completed` its
   * RequestCompleted or, when it is parked, its oldest open WaitForInput; for a resume the logged
   * ResumeWithInput, for a cancel or a configuration its RequestCompleted. The answer is an encoded
   * event, or `undefined` when the time is over or the signal fires first.
   */
  acknowledgement(receipt: Receipt, options: AcknowledgementOptions): Promise<string | undefined>;

  /** Finds what an id names: a request first, then a run. `not_found`, or `gone` for a removed run. */
  resolve(id: string): Promise<Address>;

  /** Reads one page of events after a cursor, without waiting for more. */
  read(address: Address, options: ReadEventsOptions): Promise<EventPage>;

  /** Opens a stream of events, from a cursor on, that ends by itself. */
  follow(address: Address, options: FollowOptions): Promise<Feed>;

  status(requestId: RequestId): Promise<RequestStatus>;

  /** Lists runs, most recently updated first. */
  runs(query: RunsQuery): Promise<RunsPage>;

  /** Creates a run without a turn, or finds the one that was created with the same alias. */
  createRun(agent: string, options: CreateRunOptions): Promise<RunId>;

  /**
   * Begins a new run with the history of another up to an event, for trying again from there: 0 or the
   * id of a turn's RequestCompleted, else `conflict`. The other run is not touched.
   */
  fork(runId: RunId, options: { readonly after: number }): Promise<RunId>;

  /** Removes an idle run with its events and artifacts; `conflict` while a request is open. */
  removeRun(runId: RunId): Promise<void>;

  /** Stores a file for later requests, or, with a run, as part of it. */
  upload(file: Upload): Promise<{ readonly artifactId: ArtifactId; readonly url: string }>;

  /** Finds an artifact and opens its bytes; `not_found` when there is none. */
  artifact(artifactId: ArtifactId): Promise<{
    readonly info: StoredArtifact;
    readonly body: AsyncIterable<Uint8Array>;
  }>;

  health(): RuntimeHealth;

  /**
   * Ends a turn from outside, for a fault that its code caused out of any call. Does nothing when the
   * request is not running here.
   */
  crash(turn: { readonly runId: RunId; readonly requestId: RequestId }, reason: string): void;

  /** Stops taking requests, gives running turns up to `drainMs`, then lets go of everything; what was cut continues after the next start. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** What the acceptance of a request tells. */
export interface Receipt {
  /** For a configuration, an id minted for its answer. */
  readonly requestId: RequestId;
  /** `null` only for the configuration of an agent. */
  readonly runId: RunId | null;
  readonly kind: "turn" | "resume" | "cancel" | "configure";
  /** True when the same request was accepted before. */
  readonly replayed: boolean;
  /** The encoded event that acknowledges it, where that is known at once. */
  readonly event?: string;
  /** The id of the event before the part that answers this receipt. */
  readonly after: number;
}

export interface AcknowledgementOptions {
  readonly until: "acknowledged" | "completed";
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What an id names. */
export type Address =
  | {
      readonly kind: "request";
      readonly runId: RunId;
      readonly requestId: RequestId;
      readonly agent: string;
    }
  | { readonly kind: "run"; readonly runId: RunId; readonly agent: string };

/** Which of the events a reader wants to see. Those that every reader needs are never hidden. */
export interface EventFilter {
  readonly types?: readonly EventType[];
  readonly maxDepth?: number;
  readonly agent?: string;
  /** Without it, and without `types`, the level that the request was sent with. */
  readonly level?: LoggingLevel;
}

export interface ReadEventsOptions {
  /** Events with a greater id. */
  readonly after: number;
  /** Default 1,000. */
  readonly limit?: number;
  /** Default 1 MiB. */
  readonly limitBytes?: number;
  readonly filter?: EventFilter;
}

export interface EventPage {
  /** Encoded events, oldest first. */
  readonly events: readonly string[];
  /** Where the next page goes on: past everything seen, also what the filter hid. */
  readonly cursor: number;
  /** Whether there is more to read at once. */
  readonly more: boolean;
}

export interface FollowOptions {
  /** Events with a greater id; clamped to the newest event. Default: the current segment. */
  readonly after?: number;
  /** Stays open across waits and turns. Default false: the stream ends when the request or run is parked or done. */
  readonly forever?: boolean;
  readonly filter?: EventFilter;
  readonly signal?: AbortSignal;
}

/** A page of a stream. */
export interface FeedPage extends EventPage {
  /** Whether it is known that nothing comes after it; a stream may also end without that. */
  readonly last: boolean;
}

/** A stream of events. */
export interface Feed {
  /** True when nothing will ever come: the request is completed and has nothing after the cursor. */
  readonly finished: boolean;
  /** Starts a reader that calls `sink` with each page. A page may be empty when a filter hid all of it. */
  read(sink: PageSink): FeedReader;
  /** The same pages as an iterable: in order, none twice, until the stream ends or its signal fires. */
  readonly pages: AsyncIterable<FeedPage>;
}

/** What receives the pages of a stream. */
export interface PageSink {
  /** Takes the next page. Returns false when it can take no more until it calls `resume` of its reader. */
  page(page: FeedPage): boolean;
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

export interface RunsQuery {
  readonly agent?: string;
  readonly status?: RunPhase;
  readonly limit: number;
  readonly cursor?: string;
}

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  readonly next?: string;
}

export interface CreateRunOptions {
  readonly input?: Json;
  readonly metadata?: JsonObject;
  /** A name under which the run is found again; unique. */
  readonly alias?: string;
}

export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly body: AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
  readonly runId?: RunId;
}

export interface RuntimeHealth {
  readonly ready: boolean;
  readonly closing: boolean;
  readonly durability: "memory" | "relaxed" | "full";
  readonly log: LogHealth;
  /** Runs held in memory at present. */
  readonly activeRuns: number;
  /** Turns under way, the waiting ones not counted. */
  readonly activeTurns: number;
}
