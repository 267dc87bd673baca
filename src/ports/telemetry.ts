import type {
  CompletionErrorCode,
  FinishReason,
  HoldReason,
  ToolErrorCode,
  TurnError,
  Usage,
} from "../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";

/** Receives runtime events for metrics and logs. Its methods return immediately and never throw. */
export interface Telemetry {
  /** A runtime has been created with it, and calls the other methods from now on. */
  attached?(): void;
  /** A request was accepted. */
  accepted(agent: string): void;
  /** A turn ended; `ms` is its running and waiting time. */
  completed(agent: string, reason: FinishReason, ms: number, request: EndedRequest): void;
  /** No code that is served can continue a turn, so it is held. */
  held?(agent: string, reason: HoldReason, request: HeldRequest): void;
  /** A completion ended, with what all its attempts have used. */
  asked?(completion: EndedCompletion): void;
  /** A call of a tool, an agent or an effect ended. */
  called?(call: EndedCall): void;
  /** A batch was committed. */
  committed(events: number, ms: number): void;
  /** Something arrived too late and was dropped. */
  dropped(what: "late_event" | "late_result"): void;
  /** A web page was refused; `message` says how to allow it. At most one for each origin, and 100 in all. */
  refused?(message: string): void;
  /** A call of a turn failed. Its caller sees the message of what was thrown, but not the stack. */
  failed(message: string, thrown: unknown, facts: FaultFacts): void;
  /** A run left memory because another node has taken it over. Where this is absent, it is reported as a fault. */
  moved?(message: string, facts: FaultFacts): void;
  /** A fault that is not reported to any caller; `detail` is only for our log. */
  fault(message: string, detail?: unknown, facts?: FaultFacts): void;
}

/** The request of a turn that is held. */
export interface HeldRequest {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly owner: string;
  /** The trace that it came with, if it came with one. */
  readonly trace?: { readonly traceparent: string; readonly linked?: true | undefined };
}

/** The request of a turn that ended. */
export interface EndedRequest extends HeldRequest {
  /** Why it ended, if it ended with an error. */
  readonly error?: TurnError;
}

/** A completion that ended. */
export interface EndedCompletion {
  /** The agent that asked. */
  readonly agent: string;
  readonly owner: string;
  readonly model: string;
  /** Why it has no answer. */
  readonly outcome: "ok" | "canceled" | "model_error" | CompletionErrorCode;
  /** The time since it was asked, in milliseconds, with all attempts and the pauses between them. */
  readonly ms: number;
  /** The time from the beginning of its newest attempt to the first part of its answer, in milliseconds; absent without one. */
  readonly firstMs?: number;
  readonly usage: Usage;
}

/** A call of a tool, an agent or an effect that ended. */
export interface EndedCall {
  /** The agent whose turn made it. */
  readonly agent: string;
  /** The name in its events. */
  readonly name: string;
  readonly outcome: "ok" | ToolErrorCode;
  /** The time since this process made it or continued it, in milliseconds. */
  readonly ms: number;
}

/** Where something failed, with the names that events use. */
export interface FaultFacts {
  readonly agent?: string;
  readonly owner?: string;
  readonly trace_id?: string;
  /** The span of the call, or of the turn. */
  readonly span_id?: string;
  readonly tool?: string;
  readonly model?: string;
  readonly run_id?: string;
  readonly request_id?: string;
  readonly tool_call_id?: string;
}
