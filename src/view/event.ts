import type { Callee, CallMode, By, RequestTrace } from "../protocol/actors.ts";
import type { Budget, ClientToolCall, Questions } from "../protocol/events/event-body.ts";
import type { FinishReason, HoldReason, TurnError, Usage } from "../protocol/events/outcome-codes.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { callKey } from "./run-view.ts";

/** An event as a server may send it: other servers leave fields out. */
export interface SentEvent {
  readonly id: number;
  readonly type: string;
  readonly run_id?: RunId;
  readonly request_id?: RequestId | null;
  readonly agent?: string;
  readonly depth?: number;
  readonly ts?: string;
  readonly parent_call_id?: CallId;
}

/** The fields of the events that make a view, by type; each can be absent. */
export interface SentFields {
  readonly RunCreated: { readonly input?: Json; readonly metadata?: JsonObject; readonly continues?: RunId };
  readonly Renewed: { readonly to?: RunId };
  readonly RequestStarted: {
    readonly operation?: string;
    readonly input?: Json;
    readonly attachments?: readonly ArtifactId[];
    readonly accepted_at?: string;
    readonly agent_version?: string;
    readonly trace?: RequestTrace;
  };
  readonly RequestCompleted: {
    readonly finish_reason?: FinishReason;
    readonly result?: string | null;
    readonly result_truncated?: boolean;
    readonly output?: Json;
    readonly error?: TurnError;
    readonly usage?: Usage;
  };
  readonly ReasoningOutput: SentText;
  readonly TextOutput: SentText;
  readonly ToolCall: {
    readonly function_name?: string;
    readonly args?: Json;
    readonly tool_call_id?: CallId;
    readonly callee?: Callee;
    readonly attempt?: number;
    readonly mode?: CallMode;
    readonly retry_of?: CallId;
  };
  readonly ToolTextOutput: { readonly content?: string; readonly tool_call_id?: CallId };
  readonly ToolResult: {
    readonly tool_call_id?: CallId;
    readonly text_result?: string;
    readonly result?: Json;
  };
  readonly ToolError: {
    readonly tool_call_id?: CallId;
    readonly content?: string;
    readonly code?: string;
  };
  readonly CompletionCall: {
    readonly model?: string;
    readonly call_id?: CallId;
    readonly attempt?: number;
  };
  readonly CompletionRetry: {
    readonly call_id?: CallId;
    readonly error?: string;
    readonly error_code?: string;
    readonly until?: string;
  };
  readonly CompletionResult: {
    readonly call_id?: CallId;
    readonly usage?: Usage;
    readonly result?: Json;
    readonly error?: string;
  };
  readonly WaitForInput: {
    readonly wait_id?: number;
    readonly request_keys?: Questions;
    readonly schema?: JsonObject;
    readonly call_id?: CallId;
    readonly expires_at?: string;
    readonly approval?: Json;
    readonly tool?: ClientToolCall;
    readonly approvers?: readonly string[];
    readonly question?: string;
    readonly budget?: Budget;
  };
  readonly ResumeWithInput: {
    readonly wait_id?: number;
    readonly request_keys?: JsonObject;
    readonly resume_id?: string;
    readonly by?: By;
  };
  readonly WaitExpired: { readonly wait_id?: number };
  readonly CancelRequest: { readonly by?: By };
  readonly ArtifactGenerated: SentFile;
  readonly ArtifactUploaded: SentFile;
  readonly RequestHeld: Partial<HoldReason>;
  readonly RequestContinued: Partial<HoldReason>;
  readonly RequestCanceling: { readonly finish_reason?: FinishReason; readonly error?: TurnError };
  readonly RequestRestarted: {
    readonly error?: TurnError;
    readonly restart?: number;
    readonly until?: string;
  };
  readonly ActorStopped: { readonly error?: TurnError };
  readonly ActorResumed: object;
  readonly Sleeping: { readonly call_id?: CallId; readonly until?: string };
  readonly StateChanged: {
    readonly value?: Json;
    readonly status?: "active" | "done" | "error";
    readonly chart?: string;
    readonly machine?: string;
    readonly steps?: readonly { readonly from: string; readonly event?: string; readonly to?: string }[];
  };
  readonly MessageReceived: {
    readonly message_id?: string;
    readonly name?: string;
    readonly body?: Json;
    readonly sender?: Json;
    readonly by?: By;
  };
}

interface SentText {
  readonly content?: string;
  readonly branch?: string;
  readonly call_id?: CallId;
  readonly attempt?: number;
}

interface SentFile {
  readonly artifact_id?: ArtifactId;
  readonly name?: string;
  readonly mime_type?: string;
  readonly size_bytes?: number;
  readonly url?: string;
}

/** An event of one type. */
export type SentEventOf<Type extends keyof SentFields> = SentEvent & SentFields[Type];

/** Where an event belongs; the fields that every part of a view has. */
export interface EventPlace {
  readonly requestId: RequestId | null;
  readonly agent: string;
  readonly depth: number;
  readonly at: string;
  /** The `callKey` of the actor. */
  readonly actor: string;
}

/** Where an event belongs. */
export function eventPlace({
  request_id,
  agent = "",
  depth = 0,
  ts = "",
  parent_call_id,
}: SentEvent): EventPlace {
  const requestId = request_id ?? null;
  return { requestId, agent, depth, at: ts, actor: callKey(requestId ?? "", parent_call_id) };
}

/** The id and place of a part that an event adds. */
export function baseOf(event: SentEvent): EventPlace & { readonly id: number } {
  return { ...eventPlace(event), id: event.id };
}

/** The fields that a server has sent: those that are not undefined. */
export function given<Fields extends object>(
  fields: Fields,
): { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
