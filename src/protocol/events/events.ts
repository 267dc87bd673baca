import type { CallMode, SenderRef } from "../actors.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../ids.ts";
import type { Json, JsonObject } from "../json.ts";
import type { FinishReason, TurnErrorCode, ToolErrorCode, CompletionErrorCode } from "./outcome-codes.ts";

/** The error of a turn, as its caller sees it. */
export interface TurnError {
  readonly code: TurnErrorCode;
  readonly message: string;
}

/** Token usage of completions, as far as the model reports it. */
export interface Usage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
}

/** The questions of a wait: a description for a human, by the key of each requested value. */
export type Questions = { readonly [key: string]: string };

/** The kinds of what a ToolCall calls. `remote` is an agent on another server, `actor` another run. */
export const CALLEE_KINDS = ["agent", "tool", "effect", "remote", "actor"] as const;

export type CalleeKind = (typeof CALLEE_KINDS)[number];

/** What a ToolCall calls. */
export interface Callee {
  readonly kind: CalleeKind;
  /** Its own name; `function_name` is the name that the caller uses. */
  readonly name: string;
  /** The key of an actor. */
  readonly key?: string;
  /** The run of an actor that is not addressed by key. */
  readonly run_id?: RunId;
  /** The request that an actor gets. */
  readonly request_id?: RequestId;
}

/** The status of a machine; after `done` and `error` it takes no more events. */
export const MACHINE_STATUSES = ["active", "done", "error"] as const;

export type MachineStatus = (typeof MACHINE_STATUSES)[number];

/** A transition that a machine took; states are named by their path below the root, as `checkout.paying`. */
export interface StateStep {
  readonly from: string;
  /** Absent for an eventless transition. */
  readonly event?: string;
  /** Absent if the machine stayed in its states. */
  readonly to?: string;
}

/** A call that a human is asked to approve. */
export interface Approval {
  readonly tool: string;
  readonly args: Json;
}

/** An event without its address: what an agent, or the runtime for it, says. */
export type EventBody =
  | {
      readonly type: "RequestStarted";
      readonly operation: string;
      readonly input: Json;
      readonly attachments?: readonly ArtifactId[];
      readonly config_version?: number;
      /** The version of the agent that started the turn, if the agent has one. */
      readonly agent_version?: string;
      /** The actor that sent the request. */
      readonly sender?: SenderRef;
      /** When the request was accepted, if it was queued. */
      readonly accepted_at?: string;
    }
  | {
      readonly type: "WaitForInput";
      readonly request_keys: Questions;
      readonly schema?: JsonObject;
      /** The call that is to be approved, if the wait asks for that. */
      readonly approval?: Approval;
      /** When the wait ends without an answer, if it has a time limit. */
      readonly expires_at?: string;
      readonly call_id: CallId;
    }
  | { readonly type: "WaitExpired"; readonly wait_id: number }
  | {
      readonly type: "ResumeWithInput";
      readonly wait_id: number;
      readonly request_keys: JsonObject;
      /** The id that the client chose for its answer, if any. */
      readonly resume_id?: string;
    }
  | { readonly type: "CancelRequest" }
  | {
      readonly type: "MessageReceived";
      /** The id of the request that brought the message. */
      readonly message_id: RequestId;
      readonly name: string;
      readonly body: Json;
      /** The actor that sent the message; absent for a client. */
      readonly sender?: SenderRef;
    }
  | {
      readonly type: "TextOutput";
      readonly content: string;
      readonly branch?: string;
      readonly call_id?: CallId;
      readonly attempt?: number;
    }
  | {
      readonly type: "ToolCall";
      readonly function_name: string;
      readonly args: Json;
      readonly tool_call_id: CallId;
      /** Absent in the events of servers that do not report it. */
      readonly callee?: Callee;
      readonly attempt?: number;
      /** Present if the callee is an actor. */
      readonly mode?: CallMode;
      /** The time at which the call ends with ToolError `timeout`, if it has not ended before; ISO 8601, UTC. */
      readonly expires_at?: string;
      /** The first of several attempts, if this call is a later one of them. */
      readonly retry_of?: CallId;
    }
  | {
      readonly type: "ToolResult";
      readonly function_name: string;
      readonly text_result: string;
      readonly result: Json;
      readonly tool_call_id: CallId;
    }
  | {
      readonly type: "ToolError";
      readonly function_name: string;
      readonly content: string;
      readonly code: ToolErrorCode;
      readonly tool_call_id: CallId;
    }
  | {
      readonly type: "ToolTextOutput";
      readonly content: string;
      readonly tool_call_id: CallId;
      readonly branch?: string;
      /**
       * Set if the text reports progress on something outside, which may be repeated after an interruption.
       */
      readonly progress?: true;
    }
  | {
      readonly type: "CompletionCall";
      readonly model: string;
      readonly call_id: CallId;
      readonly attempt: number;
      /** The time at which the completion fails with `timeout`, if it has not ended before; ISO 8601, UTC. */
      readonly expires_at?: string;
    }
  | {
      readonly type: "CompletionResult";
      readonly model: string;
      readonly call_id: CallId;
      readonly usage: Usage;
      readonly elapsed_ms: number;
      /** The result that the agent continues with; `null` when the completion failed. */
      readonly result: Json;
      /** Why it failed. */
      readonly error?: string;
      /** The kind of the failure, if it is one of these. */
      readonly error_code?: CompletionErrorCode;
    }
  | {
      readonly type: "ReasoningOutput";
      readonly content: string;
      readonly call_id: CallId;
      readonly attempt: number;
    }
  | {
      readonly type: "ArtifactGenerated";
      readonly name: string;
      readonly artifact_id: ArtifactId;
      readonly url: string;
      readonly mime_type: string;
      readonly size_bytes: number;
    }
  | {
      readonly type: "ArtifactUploaded";
      readonly name: string;
      readonly artifact_id: ArtifactId;
      readonly url: string;
      readonly mime_type: string;
      readonly size_bytes: number;
    }
  | {
      readonly type: "StateChanged";
      /** The state value of XState: a state's name, or an object of names by region. */
      readonly value: Json;
      /** The event that the machine took a transition for. */
      readonly cause: string;
      readonly steps: readonly StateStep[];
      /** Set if there were more steps. */
      readonly steps_truncated?: true;
      readonly status: MachineStatus;
      /** The hash of the machine's chart in the agent's description. */
      readonly chart: string;
      /**
       * The place of a machine inside the agent's machine: the ids of the actors that lead to it, joined by `/`. Absent
       * for the agent's machine itself.
       */
      readonly machine?: string;
    }
  | {
      readonly type: "Sleeping";
      readonly call_id: CallId;
      /** ISO 8601, UTC. */
      readonly until: string;
    }
  | { readonly type: "Custom"; readonly name: string; readonly body: Json }
  | {
      readonly type: "RunCreated";
      readonly input: Json;
      readonly metadata: JsonObject;
      readonly key?: string;
      /** The run whose key, memory and configuration it has taken over. */
      readonly continues?: RunId;
    }
  /** The last event of a run with a key: the actor continues in another run, which has the key from now on. */
  | { readonly type: "Renewed"; readonly to: RunId; readonly key: string }
  | {
      readonly type: "RequestCompleted";
      readonly finish_reason: FinishReason;
      readonly result: string | null;
      readonly result_truncated?: boolean;
      readonly output: Json;
      readonly error?: TurnError;
      readonly usage?: Usage;
    };

/** The name of a kind of event, as in its field `type`. */
export type EventType = EventBody["type"];

/** The role of an event's speaker, as models name it. */
export type Role = "system" | "assistant" | "user" | "tool";

/** The place of an event in the log of its run, its request, and its speaker. */
export interface EventAddress {
  /** 1, 2, 3 … without a gap in the run. */
  readonly id: number;
  readonly run_id: RunId;
  /** `null` only for events outside any turn: those of the run, and a MessageReceived between two turns. */
  readonly request_id: RequestId | null;
  readonly agent: string;
  readonly role: Role;
  /** 0 for the requested agent, plus one for each call in between. */
  readonly depth: number;
  /** ISO 8601, UTC. */
  readonly ts: string;
  /** The call during which the event occurred; present at depth 1 or more. */
  readonly parent_call_id?: CallId;
  /** The original event, if the run is a fork. */
  readonly forked_from?: ForkedFrom;
}

/** An event in another run. */
export interface ForkedFrom {
  readonly run_id: RunId;
  readonly id: number;
}

/** An event as clients see it. A WaitForInput also has `wait_id`, which is its id. */
export type Event =
  | EventOfRequest<Exclude<EventBody, { readonly type: RunEventType | "WaitForInput" | "MessageReceived" }>>
  | EventOfRequest<Extract<EventBody, { readonly type: "WaitForInput" }> & { readonly wait_id: number }>
  | (EventAddress & { readonly request_id: null } & Extract<EventBody, { readonly type: RunEventType }>)
  | (EventAddress & Extract<EventBody, { readonly type: "MessageReceived" }>);

/** The types of the events that belong to a run, but to no request of it. */
export type RunEventType = "RunCreated" | "ArtifactUploaded" | "Renewed";

type EventOfRequest<Body> = EventAddress & { readonly request_id: RequestId } & Body;

/** Whether events of a type belong to a run, but to no request of it. */
export function belongsToRun(type: EventType): type is RunEventType {
  return type === "RunCreated" || type === "ArtifactUploaded" || type === "Renewed";
}
