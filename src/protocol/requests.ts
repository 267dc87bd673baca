import type { ArtifactId, RequestId, RunId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";

/** What happens to a request whose run is busy with another turn. */
export type OnBusy = "enqueue" | "reject" | "interrupt";

/** Which events are delivered to a request's readers; everything is always in the log. */
export type LoggingLevel = "minimal" | "default" | "tools" | "llm" | "agents" | "all";

/** What every request that starts a turn may carry. */
export interface TurnRequestFields {
  /** Chosen by the client, it makes the request idempotent; otherwise the server makes one. */
  readonly request_id?: RequestId;
  /** Absent starts a new run. */
  readonly run_id?: RunId;
  /** Opaque to the runtime; the agent may read it. `run_context` is merged into it. */
  readonly request_metadata?: JsonObject;
  readonly logging_level?: LoggingLevel;
  readonly on_busy?: OnBusy;
  /** Artifacts uploaded before, handed to the agent. */
  readonly attachments?: readonly ArtifactId[];
}

/** Says something to an agent. */
export interface ChatRequest extends TurnRequestFields {
  readonly type: "ChatRequest";
  readonly input: string;
}

/** Asks an agent for one of its operations. */
export interface OperationRequest extends TurnRequestFields {
  readonly type: "OperationRequest";
  readonly operation: string;
  readonly input: Json;
}

/** Configures a run, or without a run the agent for later runs. */
export interface ConfigureRequest {
  readonly type: "ConfigureRequest";
  readonly args: JsonObject;
  readonly run_id?: RunId;
}

/** Cancels a queued, running or waiting request. */
export interface CancelRequest {
  readonly type: "CancelRequest";
  readonly request_id: RequestId;
}

/** Answers a wait; names the request, or the run when exactly one of its requests waits. */
export interface ResumeWithInput {
  readonly type: "ResumeWithInput";
  readonly request_id?: RequestId;
  readonly run_id?: RunId;
  /** Which wait; needed when several are open. */
  readonly wait_id?: number;
  readonly request_keys: JsonObject;
  /** Chosen by the client, it makes the answer idempotent. */
  readonly resume_id?: string;
}

/** A request that starts a turn. */
export type TurnRequest = ChatRequest | OperationRequest;

/** Everything that can be asked of an agent. */
export type Request = TurnRequest | ConfigureRequest | CancelRequest | ResumeWithInput;

/** How long the asker stays on the line: not at all, until the request is acknowledged, until it ends or waits. */
export type Wait = "none" | "acknowledged" | "completed";

/** How an answer is wanted, said beside the request and no part of what makes it equal to another. */
export interface Delivery {
  readonly wait: Wait;
  /** How long to wait at most, in milliseconds. */
  readonly waitMs: number;
}
