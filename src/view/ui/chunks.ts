import type { FinishReason, Usage } from "../../protocol/events/outcome-codes.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

/** What a message of the AI SDK says about where it comes from. */
export interface UiMetadata {
  readonly run_id: string;
  readonly request_id: string;
  readonly agent: string;
  /** The usage of the turn until now. */
  readonly usage?: Usage;
  /** How the turn has ended. */
  readonly finish_reason?: FinishReason;
}

/** What a called agent or a tool has said until now; a later one with the same id replaces it. */
export interface UiAgentData {
  readonly agent: string;
  /** The call of the asked agent in which it says that. */
  readonly tool_call_id: string;
  readonly text: string;
}

/** A question that is not answered by yes or no; a later one with the same id replaces it. */
export interface UiWaitData {
  readonly wait_id: number;
  readonly request_id: string;
  readonly agent: string;
  readonly question: string;
  readonly questions: { readonly [key: string]: string };
  readonly schema?: JsonObject;
  readonly approvers?: readonly string[];
  readonly expires_at?: string;
  readonly state: "open" | "answered" | "expired" | "ended";
}

/** What a tool part needs in each of its chunks. */
interface ToolChunk<Type extends string> {
  readonly type: Type;
  readonly toolCallId: string;
  readonly dynamic?: true;
  /** Set for what the agent calls itself, so that the page does not run it. */
  readonly providerExecuted?: true;
}

/** The chunks of the UI message stream of the AI SDK that agents cause. */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata: UiMetadata }
  | { readonly type: "message-metadata"; readonly messageMetadata: UiMetadata }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | (ToolChunk<"tool-input-available"> & { readonly toolName: string; readonly input: Json })
  | (ToolChunk<"tool-output-available"> & { readonly output: Json })
  | (ToolChunk<"tool-output-error"> & { readonly errorText: string })
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "tool-approval-request"; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: "tool-approval-response";
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | {
      readonly type: "file";
      readonly url: string;
      readonly mediaType: string;
      readonly providerMetadata: {
        readonly troupe: {
          readonly artifact_id: string;
          readonly name: string;
          readonly size_bytes: number;
        };
      };
    }
  | { readonly type: "data-agent"; readonly id: string; readonly data: UiAgentData }
  | { readonly type: "data-wait"; readonly id: string; readonly data: UiWaitData }
  | { readonly type: "data-output"; readonly id: string; readonly data: Json }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "finish"; readonly finishReason: "stop" | "error" | "tool-calls" };

/** A chunk and the message that it belongs to. */
export interface UiMessageChunk {
  readonly messageId: string;
  readonly chunk: UiChunk;
}
