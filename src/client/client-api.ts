import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { Event } from "../protocol/events/events.ts";
import type { ArtifactId, RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Request, ResumeWithInput, TurnRequest, Wait } from "../protocol/requests/requests.ts";
import type { RequestStatus, RunPhase, RunSummary } from "../protocol/answers/status.ts";
import type { FollowLimits } from "./stream/follow-settings.ts";
import type { Followed } from "./stream/followed.ts";
import type { Content, WireOptions } from "./wire/wire.ts";

/** An agent on a server, or a server's default agent. It throws only AgentErrors. */
export interface Client {
  readonly url: string;

  describe(options?: Interruptible): Promise<AgentDescriptor>;

  /**
   * Sends a request and optionally waits for its answer. A request that starts a turn gets a `request_id` if
   * it has none, so that it is safe to retry when the connection breaks.
   */
  process(request: Request, options?: ProcessOptions): Promise<Answer>;

  /**
   * Returns the events of a new request, of an existing request, or of a run: up to its end, or until all its
   * open calls wait for an answer. Resumes after the last event when a connection breaks.
   */
  stream(
    followed: TurnRequest | ResumeWithInput | RequestId | RunId,
    options?: StreamOptions,
  ): AsyncGenerator<Event, void>;

  /**
   * Returns the events of a run or request in batches, and the changes of the connection. It stays open across waits and
   * turns, and waits for ever for a server that cannot be reached.
   */
  follow(
    id: RequestId | RunId,
    options?: Interruptible & { readonly after?: number },
  ): AsyncGenerator<Followed<Event>, void>;

  /** Answers a wait of a request. */
  resume(requestId: RequestId, values: JsonObject, options?: ResumeOptions): Promise<Answer>;

  /** Cancels a request; the answer is its RequestCompleted. */
  cancel(requestId: RequestId, options?: Interruptible): Promise<Answer>;

  status(requestId: RequestId, options?: Interruptible): Promise<RequestStatus>;

  /** Lists runs, most recently updated first. */
  runs(query?: RunsQuery): Promise<RunsPage>;

  /** Uploads a file; put its id into the `attachments` of a request. */
  upload(
    file: Upload,
    options?: Interruptible,
  ): Promise<{ readonly artifactId: ArtifactId; readonly url: string }>;

  /** Downloads a file by the `url` of its event; the bytes are the response body. */
  artifact(url: string, options?: Interruptible): Promise<Response>;
}

export interface ClientOptions extends WireOptions {
  /** Maximum attempts for a request whose outcome is unknown. Default 4. */
  readonly attempts?: number;
}

export interface Interruptible {
  readonly signal?: AbortSignal;
}

export interface ProcessOptions extends Interruptible {
  /** Default `none`: the answer comes when the request is accepted. */
  readonly wait?: Wait;
  /** Maximum wait for `completed` in milliseconds. Default 30,000. */
  readonly waitMs?: number;
}

export interface StreamOptions extends Interruptible, Partial<FollowLimits> {
  /** Only events with a greater id. Default: all events of a new request, otherwise the current segment. */
  readonly after?: number;
  /** Keeps the stream open across waits and turns. */
  readonly forever?: boolean;
}

export interface ResumeOptions extends ProcessOptions {
  /** Which wait; required when several are open. */
  readonly waitId?: number;
  /** Makes the answer idempotent. Default: a new id. */
  readonly resumeId?: string;
}

export interface RunsQuery extends Interruptible {
  readonly agent?: string;
  readonly status?: RunPhase;
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Content;
  /** The run to add the file to. */
  readonly runId?: RunId;
}

/** The result of a request. */
export interface Answer {
  readonly requestId: RequestId;
  /** `null` only for the configuration of an agent. */
  readonly runId: RunId | null;
  /** The event that the client waited for; absent if it did not wait, or the event did not come in time. */
  readonly event?: Event;
  /** True if the same request was made before. */
  readonly replayed: boolean;
}
