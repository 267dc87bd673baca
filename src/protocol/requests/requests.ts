import type { Hops } from "../actors.ts";
import type { ArtifactId, RequestId, RunId } from "../ids.ts";
import type { Json, JsonObject } from "../json.ts";

/** What happens to a request whose run is busy with another turn. */
export type OnBusy = "enqueue" | "reject" | "interrupt";

/** Which events readers of a request get; the log always contains all of them. */
export type LoggingLevel = "minimal" | "default" | "tools" | "llm" | "agents" | "all";

/** A turn, here or on another server, in which an agent made a request. */
export interface Caller {
  /** The server of the run, where it is known. */
  readonly server?: string;
  readonly run_id: string;
  readonly request_id: string;
  /** False if the turn does not wait for the end of the request. Default true. */
  readonly waits?: boolean;
}

/** Limit of the callers in one request. */
export const CALLERS_LIMIT = 32;

/** Fields of every request that starts a turn. */
export interface TurnRequestFields {
  /** Chosen by the client, makes the request idempotent; if absent, the server generates one. */
  readonly request_id?: RequestId;
  /** Absent creates a new run, unless there is a key. */
  readonly run_id?: RunId;
  /** Names a run of the agent; the request creates it if there is none. */
  readonly key?: string;
  /** Not used by the runtime; the agent may read it. `run_context` is merged into it. */
  readonly request_metadata?: JsonObject;
  readonly logging_level?: LoggingLevel;
  readonly on_busy?: OnBusy;
  /** Ids of uploaded artifacts for the agent. */
  readonly attachments?: readonly ArtifactId[];
  /** The turns that led to this request, newest last; each was called by the one before it. */
  readonly caller?: readonly Caller[];
  /** The depth of the asked agent below its callers; 0 or absent for a request of a client. */
  readonly depth?: number;
  /** The requests before this one in a chain in which no one waits; bounds actors that tell each other without end. */
  readonly hops?: Hops;
}

/** Sends a text to an agent. */
export interface ChatRequest extends TurnRequestFields {
  readonly type: "ChatRequest";
  readonly input: string;
}

/** Calls an operation of an agent. */
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
  readonly key?: string;
}

/** Cancels a queued, running or waiting request. */
export interface CancelRequest {
  readonly type: "CancelRequest";
  readonly request_id: RequestId;
}

/** Answers a wait. Names the request, or the run, by id or key, if exactly one of its requests waits. */
export interface ResumeWithInput {
  readonly type: "ResumeWithInput";
  readonly request_id?: RequestId;
  readonly run_id?: RunId;
  readonly key?: string;
  /** Which wait; required when several are open. */
  readonly wait_id?: number;
  readonly request_keys: JsonObject;
  /** Chosen by the client, makes the answer idempotent. */
  readonly resume_id?: string;
}

/** Sends a message to a run; it starts no turn. The agent reads it in the turn that runs, or in the next one. */
export interface MessageRequest {
  readonly type: "Message";
  /** One of the messages that the agent's description lists. */
  readonly name: string;
  readonly body: Json;
  readonly run_id?: RunId;
  /** Names a run of the agent; the message creates it if there is none. */
  readonly key?: string;
  /** Chosen by the client, makes the message idempotent; if absent, the server generates one. */
  readonly request_id?: RequestId;
}

/** A request that starts a turn. */
export type TurnRequest = ChatRequest | OperationRequest;

/** Every kind of request. */
export type Request = TurnRequest | MessageRequest | ConfigureRequest | CancelRequest | ResumeWithInput;

/** How long the client waits: not at all, until the request is acknowledged, or until it ends or waits. */
export type Wait = "none" | "acknowledged" | "completed";

/** How the answer is delivered. It is not part of the request, so two requests can be equal without it. */
export interface Delivery {
  readonly wait: Wait;
  /** Maximum wait in milliseconds. */
  readonly waitMs: number;
}
