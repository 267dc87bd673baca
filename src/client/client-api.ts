import type { AgentDescriptor } from "../protocol/descriptor.ts";
import type { Event } from "../protocol/events.ts";
import type { ArtifactId, RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Request, ResumeWithInput, TurnRequest, Wait } from "../protocol/requests.ts";
import type { RequestStatus, RunPhase, RunSummary } from "../protocol/status.ts";
import type { FollowLimits } from "./wire/connection.ts";
import type { Content, WireOptions } from "./wire/wire.ts";

/** An agent on a server, or a server whose default agent is meant. Everything it throws is an AgentError. */
export interface Client {
  readonly url: string;

  /** What the agent says of itself. */
  describe(options?: Interruptible): Promise<AgentDescriptor>;

  /**
   * Sends a request and, if wanted, waits for its answer. A request that starts a turn is given a
   * `request_id` if it has none, so that it is safe to send it again when the connection breaks.
   */
  process(request: Request, options?: ProcessOptions): Promise<Answer>;

  /**
   * Gives the events of a request, of the request that an id names, or of a run: up to its end, or to where
   * everything it has open waits for an answer. Goes on behind the last event when a connection breaks.
   */
  stream(
    followed: TurnRequest | ResumeWithInput | RequestId | RunId,
    options?: StreamOptions,
  ): AsyncGenerator<Event, void>;

  /** Answers a wait of a request. */
  resume(requestId: RequestId, values: JsonObject, options?: ResumeOptions): Promise<Answer>;

  /** Ends a request; the answer is its RequestCompleted. */
  cancel(requestId: RequestId, options?: Interruptible): Promise<Answer>;

  status(requestId: RequestId, options?: Interruptible): Promise<RequestStatus>;

  /** Lists runs, most recently updated first. */
  runs(query?: RunsQuery): Promise<RunsPage>;

  /** Stores a file; its id goes into the `attachments` of a request. */
  upload(
    file: Upload,
    options?: Interruptible,
  ): Promise<{ readonly artifactId: ArtifactId; readonly url: string }>;

  /** Opens a file by the `url` of its event; its bytes are the body of the answer. */
  artifact(url: string, options?: Interruptible): Promise<Response>;
}

/** What `createClient` takes. */
export interface ClientOptions extends WireOptions {
  /** How often a request is sent at most when its outcome is unknown. Default 4. */
  readonly attempts?: number;
}

export interface Interruptible {
  readonly signal?: AbortSignal;
}

export interface ProcessOptions extends Interruptible {
  /** Default `none`: the answer comes when the request is accepted. */
  readonly wait?: Wait;
  /** How long `completed` waits, in milliseconds. Default 30,000. */
  readonly waitMs?: number;
}

export interface StreamOptions extends Interruptible, Partial<FollowLimits> {
  /** Only events with a greater id. Default: of a new request all, else the current segment. */
  readonly after?: number;
  /** Stays open across waits and turns. */
  readonly forever?: boolean;
}

export interface ResumeOptions extends ProcessOptions {
  /** Which wait; needed when several are open. */
  readonly waitId?: number;
  /** Makes the answer idempotent. Default a new one. */
  readonly resumeId?: string;
}

export interface RunsQuery extends Interruptible {
  readonly agent?: string;
  readonly status?: RunPhase;
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** Where the list goes on; absent at its end. */
  readonly next?: string;
}

export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Content;
  /** The run that it becomes part of. */
  readonly runId?: RunId;
}

/** What came of a request. */
export interface Answer {
  readonly requestId: RequestId;
  /** `null` only for the configuration of an agent. */
  readonly runId: RunId | null;
  /** The event that was waited for; absent when none was, or when it did not come in time. */
  readonly event?: Event;
  /** True when the same request was made before. */
  readonly replayed: boolean;
}
