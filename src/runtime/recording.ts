import type { Approval, ClientToolCall } from "../protocol/events/event-body.ts";
import type {
  CompletionErrorCode,
  FinishReason,
  ToolErrorCode,
  TurnError,
  Usage,
} from "../protocol/events/outcome-codes.ts";
import type { CalleeKind } from "../protocol/actors.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ClientTool } from "../protocol/requests/requests.ts";
import type { PromptDigest } from "./replay/prompts.ts";

/**
 * What a run was asked and what answered it: people, models, tools and other actors. Other code can be tried with it. Values
 * whose names are those of secrets are replaced by `[secret]`.
 */
export interface RecordedRun {
  readonly run_id: RunId;
  readonly agent: string;
  /** The metadata of the run. */
  readonly metadata?: JsonObject;
  readonly config?: JsonObject;
  /** The turns that have ended, oldest first. */
  readonly turns: readonly RecordedTurn[];
}

/** A turn with everything that came from outside of its code. */
export interface RecordedTurn {
  readonly request_id: RequestId;
  readonly operation: string;
  readonly input: Json;
  /** When it started, ISO 8601, UTC. */
  readonly at: string;
  /** The metadata of the request. */
  readonly metadata?: JsonObject;
  /** The tools that the client brought. */
  readonly tools?: readonly ClientTool[];
  /** The number of files that came with the request, which are not in the recording. */
  readonly files?: number;
  readonly messages?: readonly RecordedMessage[];
  readonly answers?: readonly RecordedAnswer[];
  readonly completions?: readonly RecordedCompletion[];
  /** Calls of tools, effects, agents and actors by the code of agents. Those of kind `agent` are no answers: their code runs again. */
  readonly calls?: readonly RecordedCall[];
  readonly end: RecordedEnd;
}

/** A message that came before or during a turn. */
export interface RecordedMessage {
  readonly name: string;
  readonly body: Json;
  /** The number of completions and calls of the turn that had ended before. */
  readonly after: number;
}

/** A question to a person, or to the client, and what became of it. */
export interface RecordedAnswer {
  /** The names of the values that were asked. */
  readonly keys: readonly string[];
  readonly approval?: Approval;
  /** The tool that the client ran. */
  readonly tool?: ClientToolCall;
  /** The answer; absent if there was none. */
  readonly values?: JsonObject;
  /** Set if its time limit passed. */
  readonly expired?: true;
}

/** A completion with its last attempt. */
export interface RecordedCompletion {
  readonly agent: string;
  readonly model: string;
  /** What it was asked; absent if the log does not keep prompts. */
  readonly prompt?: PromptDigest;
  readonly result: Json;
  /** The text that it streamed, if its result does not say it. */
  readonly text?: string;
  readonly reasoning?: string;
  /** Why it failed. */
  readonly error?: string;
  readonly error_code?: CompletionErrorCode;
  readonly usage?: Usage;
  readonly elapsed_ms: number;
}

/** A call and its outcome. */
export interface RecordedCall {
  readonly name: string;
  readonly kind: CalleeKind;
  readonly args: Json;
  readonly result?: Json;
  /** The result as text. */
  readonly text?: string;
  /** Why it failed. */
  readonly error?: string;
  readonly code?: ToolErrorCode;
}

/** How a turn ended. */
export interface RecordedEnd {
  readonly finish_reason: FinishReason;
  readonly output: Json;
  /** The answer as text. */
  readonly result: string | null;
  readonly error?: TurnError;
  readonly usage?: Usage;
  readonly elapsed_ms: number;
}
