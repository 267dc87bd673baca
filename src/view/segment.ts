import type { Questions, TurnError, Usage } from "../protocol/events/events.ts";
import type { FinishReason } from "../protocol/events/outcome-codes.ts";
import type { ArtifactId, CallId, RequestId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";

/** A question of an agent. */
export interface AskedWait {
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: Questions;
  readonly schema?: JsonObject;
  /** When it ends without an answer, ISO 8601, UTC; absent without a time limit. */
  readonly expiresAt?: string;
}

/** A file of a run. */
export interface RunFile {
  readonly artifactId: ArtifactId;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly url: string;
  /** Whether the agent made it; otherwise a client uploaded it. */
  readonly isGenerated: boolean;
  /** The event that added it. */
  readonly eventId: number;
}

/** How a request ended. */
export interface RequestEnd {
  /** The event that ended it. */
  readonly eventId: number;
  readonly reason: FinishReason;
  readonly result: string | null;
  readonly output: Json;
  readonly error?: TurnError;
  readonly usage?: Usage;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** An answer to a wait. */
export interface GivenValues {
  readonly waitId: number;
  readonly values: JsonObject;
}

/**
 * The part of a request between two moments at which its caller acts: it begins with the start of the request, with an
 * answer or with the expiry of a wait, and ends with the next of them or with the end of the request.
 */
export interface Segment {
  /** The id of the event that began it. */
  readonly id: number;
  readonly requestId: RequestId;
  readonly operation: string;
  /** The input of the request. */
  readonly input: Json;
  /** The answer that began it; absent if the start of the request or the expiry of a wait began it. */
  readonly answer?: GivenValues;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** What the agent itself has said in it. */
  readonly text: string;
  /** What the agent and its callees have made in it. */
  readonly files: readonly RunFile[];
  /** The open waits, oldest first, also those that an earlier segment asked; of a past segment those at its end. */
  readonly waits: readonly AskedWait[];
  /** How the request ended, if this segment is its last. */
  readonly end: RequestEnd | undefined;
  /** Whether a later answer, or the expiry of a wait, has begun another segment of the request. */
  readonly isAnswered: boolean;
}

/** A request of a run whose turn has started. */
export interface ProjectedRequest {
  readonly requestId: RequestId;
  /** Oldest first; at least one. */
  readonly segments: readonly Segment[];
  readonly end: RequestEnd | undefined;
}
