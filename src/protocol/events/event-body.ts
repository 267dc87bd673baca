import * as z from "zod";
import { CALL_MODES, CALLEE_KINDS, MACHINE_STATUSES, STRATEGY_ENDS } from "../actors.ts";
import type {
  By,
  Callee,
  CallMode,
  Hops,
  MachineStatus,
  RequestTrace,
  SenderRef,
  SupervisorStrategy,
} from "../actors.ts";
import {
  artifactId,
  callId,
  clientId,
  count,
  hops,
  json,
  jsonObject,
  ordinal,
  requestId,
  runId,
  timestamp,
  traceparent,
} from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../ids.ts";
import type { Json, JsonObject } from "../json.ts";
import { COMPLETION_ERROR_CODES, FINISH_REASONS, TOOL_ERROR_CODES } from "./outcome-codes.ts";
import { holdReason, turnError, usage } from "./outcome-schemas.ts";
import type {
  CompletionErrorCode,
  FinishReason,
  HoldReason,
  ToolErrorCode,
  TurnError,
  Usage,
} from "./outcome-codes.ts";

/** The questions of a wait: a description for a human, by the key of each requested value. */
export type Questions = { readonly [key: string]: string };

/** A transition that a machine took; states are named by their path below the root, as `checkout.paying`. */
export interface StateStep {
  readonly from: string;
  /** Absent for an eventless transition. */
  readonly event?: string;
  /** Absent if the machine stayed in its states. */
  readonly to?: string;
}

/** A file that the callee of a call has published. */
export interface ResultFile {
  readonly name: string;
  readonly artifact_id: ArtifactId;
  readonly url: string;
  readonly mime_type: string;
  readonly size_bytes: number;
}

/** What may be spent on completions, and was: by an owner or one of its agents on a day, or by a run. */
export interface Budget {
  readonly unit: "tokens" | "cost";
  /** In UTC, for example `2026-11-28`; absent for the budget of a run. */
  readonly day?: string;
  /** The agent whose budget it is; absent for that of the owner or of the run. */
  readonly agent?: string;
  readonly limit: number;
  readonly spent: number;
}

/** A call that a human is asked to approve. */
export interface Approval {
  readonly tool: string;
  readonly args: Json;
}

/** A call of a tool that the client of the request runs. */
export interface ClientToolCall {
  readonly name: string;
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
      /** Who made the request. */
      readonly by?: By;
      /** The trace that the request belongs to, if it came with one. */
      readonly trace?: RequestTrace;
    }
  | {
      readonly type: "WaitForInput";
      readonly request_keys: Questions;
      readonly schema?: JsonObject;
      /** The call that is to be approved, if the wait asks for that. */
      readonly approval?: Approval;
      /** The call whose result is asked, if the client is to run a tool. */
      readonly tool?: ClientToolCall;
      /** The roles that may answer; absent if everyone may who sees the question. */
      readonly approvers?: readonly string[];
      /** What is asked, for a reader who may not answer: such a reader gets no keys and no schema. */
      readonly question?: string;
      /** The budget that is used up, if the wait asks for more. The answer `{raise: 1000}` raises it. */
      readonly budget?: Budget;
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
      /** Who answered. */
      readonly by?: By;
    }
  | {
      readonly type: "CancelRequest";
      /** Who canceled the request. */
      readonly by?: By;
    }
  | {
      readonly type: "MessageReceived";
      /** The id of the request that brought the message. */
      readonly message_id: RequestId;
      readonly name: string;
      readonly body: Json;
      /** The actor that sent the message; absent for a client. */
      readonly sender?: SenderRef;
      /** How many requests led to a publication without a caller that waits. */
      readonly hops?: Hops;
      /** Who sent the message. */
      readonly by?: By;
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
      /** What becomes of the request of an actor if its turn fails. */
      readonly supervise?: SupervisorStrategy;
      /** Set if the provider of a model has made the call itself, as a part of a completion: nothing here runs it. */
      readonly provider_executed?: true;
    }
  | {
      readonly type: "ToolResult";
      readonly function_name: string;
      readonly text_result: string;
      readonly result: Json;
      readonly tool_call_id: CallId;
      /** The files that the callee has published; absent if there are none. */
      readonly files?: readonly ResultFile[];
      readonly provider_executed?: true;
    }
  | {
      readonly type: "ToolError";
      readonly function_name: string;
      readonly content: string;
      readonly code: ToolErrorCode;
      readonly tool_call_id: CallId;
      readonly provider_executed?: true;
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
      /** Of all its attempts. */
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
      /** An attempt of a completion failed, and the completion is tried again. */
      readonly type: "CompletionRetry";
      readonly model: string;
      readonly call_id: CallId;
      /** The attempt that failed. */
      readonly attempt: number;
      readonly error: string;
      readonly error_code?: CompletionErrorCode;
      /** What the attempt used, which is also in the usage of the CompletionResult. */
      readonly usage?: Usage;
      /** When it is tried again, ISO 8601, UTC; later if the model is still away then. Absent if that happens at once. */
      readonly until?: string;
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
  /** No code that is served can continue the turn. It is tried again when other code is served. */
  | ({ readonly type: "RequestHeld" } & HoldReason)
  /** The turn that was held continues. */
  | { readonly type: "RequestContinued" }
  /** The turn has not succeeded, and its cleanup steps run now; its RequestCompleted has the same reason. */
  | {
      readonly type: "RequestCanceling";
      readonly finish_reason: "canceled" | "error";
      readonly error?: TurnError;
    }
  /** The turn has failed, and the next one of its request does it again: its supervisor says so. */
  | {
      readonly type: "RequestRestarted";
      readonly error: TurnError;
      /** The number of this restart of the request, from 1. */
      readonly restart: number;
      /** When the next turn begins, ISO 8601, UTC; absent if that is at once. */
      readonly until?: string;
    }
  /** The actor takes no request any more: a turn of it has failed, and its supervisor says so. */
  | { readonly type: "ActorStopped"; readonly error: TurnError }
  /** The actor that was stopped takes requests again. */
  | {
      readonly type: "ActorResumed";
      /** Who resumed it. */
      readonly by?: By;
    }
  | { readonly type: "Custom"; readonly name: string; readonly body: Json }
  | {
      readonly type: "RunCreated";
      readonly input: Json;
      readonly metadata: JsonObject;
      readonly key?: string;
      /** The run whose key, memory and configuration it has taken over. */
      readonly continues?: RunId;
      /** How many of its first MessageReceived were in the run before; absent for none. */
      readonly carried?: number;
      /** Who created it. */
      readonly by?: By;
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
      /** What went wrong with the cleanup steps of the turn; absent if nothing did. */
      readonly cleanup_errors?: readonly string[];
      /** Who ended the turn, if it was held. */
      readonly by?: By;
    };

/** The name of a kind of event, as in its field `type`. */
export type EventType = EventBody["type"];

type BodyFields<Type extends EventType> = Omit<Extract<EventBody, { readonly type: Type }>, "type">;

const text = z.string();
const callee: z.ZodType<Callee> = z.object({
  kind: z.enum(CALLEE_KINDS),
  name: text.describe("Its own name."),
  key: text.exactOptional().describe("The key of an actor."),
  run_id: runId.exactOptional().describe("The run of an actor that is not addressed by key."),
  request_id: requestId.exactOptional().describe("The request that an actor gets."),
  server: text.exactOptional().describe("The server that has a tool, by its name, where it is another one."),
} satisfies Shape<Callee>);

const step: z.ZodType<StateStep> = z.object({
  from: text.describe("A state by its path below the root, as `checkout.paying`; empty for the root."),
  event: text.exactOptional().describe("Absent for an eventless transition."),
  to: text.exactOptional().describe("Absent if the machine stayed in its states."),
} satisfies Shape<StateStep>);

const branch = text.exactOptional().describe("Names one of several parallel texts.");
const attempt = ordinal.exactOptional().describe("Above 1 when the call is retried after an interruption.");
const sender: z.ZodType<SenderRef> = z.object({
  agent: text.exactOptional(),
  key: text.exactOptional(),
  run_id: text,
  server: text.exactOptional().describe("Present if the sender is on another server; then it is a claim."),
} satisfies Shape<SenderRef>);

const by: z.ZodType<By> = z.object({
  id: text,
  name: text.exactOptional().describe("A name for people."),
} satisfies Shape<By>);

const trace: z.ZodType<RequestTrace> = z.object({
  traceparent: traceparent.describe("The span that led to the request."),
  linked: z
    .literal(true)
    .exactOptional()
    .describe(
      "Set if its caller does not wait for the request: it has a trace of its own, with a link to that span.",
    ),
} satisfies Shape<RequestTrace>);

const deadline = timestamp
  .exactOptional()
  .describe("The time at which the call fails with timeout, if it has not ended before.");
const strategy: z.ZodType<SupervisorStrategy> = z.object({
  attempts: ordinal.describe("How often the request is tried, with the first time."),
  within_ms: z
    .number()
    .exactOptional()
    .describe("Only the restarts of the actor within this time count; absent: those of the request."),
  backoff_ms: z.number().min(0).describe("The pause before the first restart; doubled for each further one."),
  then: z.enum(STRATEGY_ENDS).describe("What follows the last failure."),
} satisfies Shape<SupervisorStrategy>);
const providerExecuted = z
  .literal(true)
  .exactOptional()
  .describe("Set if the provider of a model has made the call itself, as a part of a completion.");
const artifact = { name: text, artifact_id: artifactId, url: text, mime_type: text, size_bytes: count };
const resultFile = z.object(artifact satisfies Shape<ResultFile>);

/** @internal The questions of a wait. */
export const questions: z.ZodType<Questions> = z.record(z.string(), z.string());

const completed = {
  finish_reason: z.enum(FINISH_REASONS),
  result: text.nullable().describe("The answer as text; for a chat all text of the agent."),
  result_truncated: z.boolean().exactOptional(),
  output: json.describe("The answer as a value."),
  error: turnError.exactOptional().describe("Present if finish_reason is error."),
  usage: usage.exactOptional(),
  cleanup_errors: z
    .array(text)
    .exactOptional()
    .describe("What went wrong with the cleanup steps of the turn; absent if nothing did."),
  by: by.exactOptional().describe("Who ended the turn, if it was held."),
} satisfies Shape<BodyFields<"RequestCompleted">>;

/** @internal What each type of event says, and the schema of each field of its body. */
export const bodies: {
  readonly [Type in EventType]: readonly [description: string, fields: Shape<BodyFields<Type>>];
} = {
  RequestStarted: [
    "The agent has started to work on a request.",
    {
      operation: text,
      input: json,
      attachments: z.array(artifactId).exactOptional(),
      config_version: count.exactOptional(),
      agent_version: text.exactOptional().describe("The version of the agent's code."),
      sender: sender.exactOptional().describe("The actor that sent the request."),
      accepted_at: timestamp.exactOptional().describe("When the request was accepted, if it was queued."),
      by: by.exactOptional().describe("Who made the request."),
      trace: trace.exactOptional().describe("The trace that the request belongs to, if it came with one."),
    },
  ],
  WaitForInput: [
    "The agent needs an answer before it can continue.",
    {
      request_keys: questions.describe("A description for each requested value."),
      schema: jsonObject.exactOptional().describe("JSON Schema of the values."),
      approval: z
        .object({ tool: text, args: json } satisfies Shape<Approval>)
        .exactOptional()
        .describe("The call that is to be approved; the answer {approved: true} approves it."),
      tool: z
        .object({ name: text, args: json } satisfies Shape<ClientToolCall>)
        .exactOptional()
        .describe("The call of a tool of the client, which runs it and answers with {result}."),
      approvers: z
        .array(text)
        .exactOptional()
        .describe("The roles that may answer; absent if everyone may who sees the question."),
      question: text
        .exactOptional()
        .describe("What is asked, for a reader who may not answer; request_keys is empty then."),
      budget: z
        .object({
          unit: z.enum(["tokens", "cost"]),
          day: text.exactOptional().describe("In UTC; absent for the budget of the run."),
          agent: text
            .exactOptional()
            .describe("The agent whose budget it is, if it is not that of the owner or the run."),
          limit: z.number(),
          spent: z.number(),
        } satisfies Shape<Budget>)
        .exactOptional()
        .describe(
          "The budget that is used up, if the wait asks for more; the answer {raise: 1000} raises it.",
        ),
      expires_at: timestamp
        .exactOptional()
        .describe("When the wait ends without an answer; absent without a time limit."),
      call_id: callId,
    },
  ],
  WaitExpired: [
    "The time limit of a wait has passed; it takes no answer any more.",
    {
      wait_id: ordinal,
    },
  ],
  ResumeWithInput: [
    "A wait was answered.",
    {
      wait_id: ordinal,
      request_keys: jsonObject,
      resume_id: clientId.exactOptional(),
      by: by.exactOptional().describe("Who answered."),
    },
  ],
  CancelRequest: [
    "The request was canceled; its RequestCompleted follows.",
    { by: by.exactOptional().describe("Who canceled it.") },
  ],
  MessageReceived: [
    "A message has arrived.",
    {
      message_id: requestId.describe("The request_id of the message."),
      name: text,
      body: json,
      sender: sender.exactOptional().describe("The actor that sent the message."),
      hops: hops
        .exactOptional()
        .describe("How many requests led to a publication without a caller that waits."),
      by: by.exactOptional().describe("Who sent the message."),
    },
  ],
  TextOutput: [
    "The agent wrote a text.",
    {
      content: text,
      branch,
      call_id: callId.exactOptional().describe("The completion that the text comes from."),
      attempt,
    },
  ],
  ToolCall: [
    "The agent calls a tool or another agent.",
    {
      function_name: text,
      args: json,
      tool_call_id: callId,
      callee: callee.exactOptional().describe("What is called. function_name is the caller's name for it."),
      attempt,
      mode: z
        .enum(CALL_MODES)
        .exactOptional()
        .describe(
          "Present for an actor: an ask ends with its answer, a tell when it has accepted the request.",
        ),
      expires_at: deadline,
      retry_of: callId
        .exactOptional()
        .describe("The tool_call_id of the first attempt, if this call is a later attempt of it."),
      supervise: strategy
        .exactOptional()
        .describe("What becomes of the request of an actor if its turn fails."),
      provider_executed: providerExecuted,
    },
  ],
  ToolResult: [
    "A call ended with a result.",
    {
      function_name: text,
      text_result: text,
      result: json,
      tool_call_id: callId,
      files: z.array(resultFile).exactOptional().describe("The files that the callee has published."),
      provider_executed: providerExecuted,
    },
  ],
  ToolError: [
    "A call ended without a result.",
    {
      function_name: text,
      content: text,
      code: z.enum(TOOL_ERROR_CODES),
      tool_call_id: callId,
      provider_executed: providerExecuted,
    },
  ],
  ToolTextOutput: [
    "A tool reports its progress.",
    {
      content: text,
      tool_call_id: callId,
      branch,
      progress: z
        .literal(true)
        .exactOptional()
        .describe(
          "Set if it reports progress on something outside, which may be repeated after an interruption.",
        ),
    },
  ],
  CompletionCall: [
    "The agent asks a model for a completion.",
    {
      model: text,
      call_id: callId,
      attempt: ordinal.describe("Above 1, it replaces the text of earlier attempts."),
      expires_at: deadline,
    },
  ],
  CompletionResult: [
    "A model has completed.",
    {
      model: text,
      call_id: callId,
      usage,
      elapsed_ms: z.number().min(0),
      result: json.describe("The result that the agent continues with; null when the completion failed."),
      error: text.exactOptional().describe("Why it failed."),
      error_code: z
        .enum(COMPLETION_ERROR_CODES)
        .exactOptional()
        .describe("The kind of the failure; absent for another failure of the model."),
    },
  ],
  CompletionRetry: [
    "A model gave no answer, and is asked again.",
    {
      model: text,
      call_id: callId,
      attempt: ordinal.describe("The attempt that failed. The texts of the next one replace its texts."),
      error: text,
      error_code: z.enum(COMPLETION_ERROR_CODES).exactOptional(),
      usage: usage
        .exactOptional()
        .describe("What the attempt used, which is also in the usage of the CompletionResult."),
      until: timestamp
        .exactOptional()
        .describe(
          "When it is asked again; later if the model is still away then. Absent if it is asked at once.",
        ),
    },
  ],
  ReasoningOutput: [
    "Reasoning of a model before its answer.",
    {
      content: text,
      call_id: callId,
      attempt: ordinal,
    },
  ],
  ArtifactGenerated: ["The agent published a file.", artifact],
  ArtifactUploaded: ["A client added a file to the run.", artifact],
  StateChanged: [
    "The agent's state machine took transitions for an event.",
    {
      value: json.describe("XState's state value: a state's name, or an object of names by region."),
      cause: text.describe("The event, as in the steps."),
      steps: z.array(step).describe("The transitions in order, at most 32."),
      steps_truncated: z.literal(true).exactOptional().describe("Set if there were more steps."),
      status: z.enum(MACHINE_STATUSES),
      chart: text.describe("The hash of the chart, as in the agent's description."),
      machine: text
        .exactOptional()
        .describe("The place of a machine inside the agent's machine: ids of actors, joined by `/`."),
    },
  ],
  Sleeping: [
    "The agent does nothing for a second or more.",
    {
      call_id: callId,
      until: timestamp,
    },
  ],
  RequestHeld: [
    "No code that is served can continue the turn; it is tried again when other code is served.",
    holdReason,
  ],
  RequestContinued: ["The turn that was held continues.", {}],
  RequestCanceling: [
    "The turn was canceled or has failed, and its cleanup steps run now.",
    { finish_reason: z.enum(["canceled", "error"]), error: turnError.exactOptional() },
  ],
  RequestRestarted: [
    "The turn has failed, and the request is done again with the memory that the actor had before it.",
    {
      error: turnError,
      restart: ordinal.describe("The number of this restart of the request."),
      until: timestamp.exactOptional().describe("When it is done again; absent if that is at once."),
    },
  ],
  ActorStopped: [
    "A turn of the actor has failed, and its supervisor has stopped it: it takes no requests until it is resumed.",
    { error: turnError },
  ],
  ActorResumed: [
    "The actor that was stopped takes requests again.",
    { by: by.exactOptional().describe("Who resumed it.") },
  ],
  Custom: [
    "The agent's state machine emitted an event of its own.",
    {
      name: text,
      body: json,
    },
  ],
  RunCreated: [
    "A run was created without a request, or to continue another one.",
    {
      input: json,
      metadata: jsonObject,
      key: text.exactOptional().describe("The name by which the run is found."),
      continues: runId
        .exactOptional()
        .describe("The run whose key, memory and configuration it has taken over."),
      carried: count
        .exactOptional()
        .describe("How many of its first MessageReceived were in the run before."),
      by: by.exactOptional().describe("Who created it."),
    },
  ],
  Renewed: [
    "The actor continues in another run; no event follows.",
    {
      to: runId.describe("The run that has the key from now on."),
      key: text.describe("The key that the run had."),
    },
  ],
  RequestCompleted: ["The turn has ended; no event of it follows.", completed],
};
