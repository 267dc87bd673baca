import * as z from "zod";
import { CALLERS_LIMIT } from "../actors.ts";
import type { Caller, Hops, RequestTrace } from "../actors.ts";
import {
  artifactId,
  clientId,
  count,
  hops,
  json,
  jsonObject,
  key,
  optional,
  ordinal,
  requestId,
  runId,
  traceparent,
} from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { ArtifactId, RequestId, RunId } from "../ids.ts";
import type { Json, JsonObject } from "../json.ts";
import { BAGGAGE_LENGTH, TRACESTATE_LENGTH } from "../../shared/trace-context.ts";
import type { TraceContext } from "../../shared/trace-context.ts";

const BUSY = ["enqueue", "reject", "interrupt"] as const;

/** What happens to a request whose run is busy with another turn. */
export type OnBusy = (typeof BUSY)[number];

export const LOGGING_LEVELS = ["minimal", "default", "tools", "llm", "agents", "all"] as const;

/** Which events readers of a request get; the log always contains all of them. */
export type LoggingLevel = (typeof LOGGING_LEVELS)[number];

/** A tool that the client of a request runs itself: the agent's call of it is a wait, and its result the answer. */
export interface ClientTool {
  /** 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** For the model. */
  readonly description?: string;
  /** JSON Schema of its arguments. Default: any object. */
  readonly input_schema?: JsonObject;
  /** JSON Schema of its result. Default: any JSON. */
  readonly output_schema?: JsonObject;
}

/** The trace that a request belongs to: what its headers say, or a caller in a body of its own. */
export interface GivenTrace extends RequestTrace, TraceContext {}

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
  /** Tools that the client runs, for an agent that takes them (`client_tools` in its description); others may read them. */
  readonly tools?: readonly ClientTool[];
  /** The turns that led to this request, newest last; each was called by the one before it. */
  readonly caller?: readonly Caller[];
  /** The depth of the asked agent below its callers; 0 or absent for a request of a client. */
  readonly depth?: number;
  /** The requests before this one in a chain in which no one waits; bounds actors that tell each other without end. */
  readonly hops?: Hops;
  /** The trace that the request belongs to. */
  readonly trace?: GivenTrace;
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

const WAITS = ["none", "acknowledged", "completed"] as const;

/** How long the client waits: not at all, until the request is acknowledged, or until it ends or waits. */
export type Wait = (typeof WAITS)[number];

/** How the answer is delivered. It is not part of the request, so two requests can be equal without it. */
export interface Delivery {
  readonly wait: Wait;
  /** Maximum wait in milliseconds. */
  readonly waitMs: number;
}

/** Optional fields of a body that are not part of the request itself. */
export interface Beside {
  readonly wait?: boolean | Wait;
  readonly wait_ms?: number;
  /** Another name for `request_metadata`; merged into it. */
  readonly run_context?: JsonObject;
}

/** @internal The schema of what a body has beside the request. */
export const besideSchema: z.ZodType<Beside> = z.object({
  wait: optional(
    z.union([z.boolean(), z.enum(WAITS)], {
      error: "must be true, false, acknowledged or completed",
    }),
  ).describe(
    "How long to wait for the answer: true or acknowledged until the request is acknowledged, completed until it ends or waits for input.",
  ),
  wait_ms: optional(count).describe("Maximum wait in milliseconds; default 30000, at most 600000."),
  run_context: optional(jsonObject).describe(
    "Another name for request_metadata. The two are merged; request_metadata wins.",
  ),
} satisfies Shape<Beside>);

const callerId = z.string().min(1).max(256);

const caller: z.ZodType<Caller> = z.object({
  server: optional(z.string().max(2_048)),
  run_id: callerId,
  request_id: callerId,
  waits: optional(z.boolean()),
} satisfies Shape<Caller>);

const trace: z.ZodType<GivenTrace> = z.object({
  traceparent: traceparent.describe("The span that led to the request."),
  tracestate: optional(z.string().max(TRACESTATE_LENGTH)),
  baggage: optional(z.string().max(BAGGAGE_LENGTH)),
  linked: optional(z.literal(true)).describe(
    "Set if its caller does not wait for the request: it gets a trace of its own, with a link to that span.",
  ),
} satisfies Shape<GivenTrace>);

const ownId = optional(requestId).describe(
  "Chosen by the client, makes the request idempotent; if absent, the server generates one.",
);

const clientTool: z.ZodType<ClientTool> = z.object({
  name: z.string().regex(/^[\w-]{1,64}$/, "must be 1 to 64 letters, digits, _ or -"),
  description: optional(z.string().max(16_384)),
  input_schema: optional(jsonObject).describe("JSON Schema of its arguments; absent means any object."),
  output_schema: optional(jsonObject).describe("JSON Schema of its result; absent means any JSON."),
} satisfies Shape<ClientTool>);

const clientTools = z
  .array(clientTool)
  .max(128)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, "has a name twice");

const turnFields = {
  request_id: ownId,
  run_id: optional(runId).describe("The run to continue; absent creates a new one, unless there is a key."),
  key: optional(key).describe("A name of a run of the agent. The request creates the run if there is none."),
  request_metadata: optional(jsonObject).describe(
    "Data for the agent; ignored when two requests are compared.",
  ),
  logging_level: optional(z.enum(LOGGING_LEVELS)).describe("Which events readers of the request get."),
  on_busy: optional(z.enum(BUSY)).describe(
    "What happens when the run is busy: enqueue, reject the request, or cancel the running one.",
  ),
  attachments: optional(z.array(artifactId).max(100)).describe("Ids of uploaded artifacts for the agent."),
  tools: optional(clientTools).describe(
    "Tools that the client runs itself: a call of one is a wait with `tool`, answered by its result.",
  ),
  caller: optional(z.array(caller).max(CALLERS_LIMIT)).describe(
    "The turns of agents that led to this request, newest last; ignored when two requests are compared.",
  ),
  depth: optional(count).describe("The depth of the asked agent below its callers; 0 for a client."),
  hops: optional(hops).describe(
    "How many requests led to this one without a caller that waits, and since when.",
  ),
  trace: optional(trace).describe(
    "The trace that the request belongs to; without it, the headers traceparent, tracestate and baggage. Ignored when two requests are compared.",
  ),
} satisfies Shape<TurnRequestFields>;

/** @internal The schema of each type of request. */
export const requestSchemas: {
  readonly [Type in Request["type"]]: z.ZodType<Extract<Request, { readonly type: Type }>>;
} = {
  ChatRequest: z
    .object({
      type: z.literal("ChatRequest"),
      input: z.string().describe("The text for the agent."),
      ...turnFields,
    } satisfies Shape<ChatRequest>)
    .describe("Sends a text to an agent."),

  OperationRequest: z
    .object({
      type: z.literal("OperationRequest"),
      operation: z.string().min(1).describe("One of the operations that the agent's description lists."),
      input: json.describe("The operation's input; an empty object if it has none."),
      ...turnFields,
    } satisfies Shape<OperationRequest>)
    .describe("Calls an operation of an agent."),

  Message: z
    .object({
      type: z.literal("Message"),
      name: z.string().min(1).describe("One of the messages that the agent's description lists."),
      body: json.describe("The content of the message."),
      run_id: optional(runId).describe("The run that gets the message; required unless there is a key."),
      key: optional(key).describe("The key of the run. The message creates the run if there is none."),
      request_id: ownId,
    } satisfies Shape<MessageRequest>)
    .meta({ anyOf: ["run_id", "key"].map(isRequired) })
    .describe("Sends a message to a run, which starts no turn."),

  ConfigureRequest: z
    .object({
      type: z.literal("ConfigureRequest"),
      args: jsonObject.describe("The settings, by name."),
      run_id: optional(runId).describe("The run to configure; absent configures the agent for later runs."),
      key: optional(key).describe("The key of the run to configure."),
    } satisfies Shape<ConfigureRequest>)
    .describe("Configures a run, or the agent for later runs."),

  CancelRequest: z
    .object({
      type: z.literal("CancelRequest"),
      request_id: requestId.describe("The request to cancel."),
    } satisfies Shape<CancelRequest>)
    .describe("Cancels a queued, running or waiting request."),

  ResumeWithInput: z
    .object({
      type: z.literal("ResumeWithInput"),
      request_id: optional(requestId).describe("The request that waits."),
      run_id: optional(runId).describe("The run; sufficient if exactly one of its requests waits."),
      key: optional(key).describe("The key of the run; sufficient if exactly one of its requests waits."),
      wait_id: optional(ordinal).describe("Which wait; required when several are open."),
      request_keys: jsonObject.describe("A value for each requested key."),
      resume_id: optional(clientId).describe("Chosen by the client, makes the answer idempotent."),
    } satisfies Shape<ResumeWithInput>)
    .meta({ anyOf: ["request_id", "run_id", "key"].map(isRequired) })
    .describe("Answers a request that waits for input."),
};

function isRequired(name: string): object {
  return { properties: { [name]: { type: "string" } }, required: [name] };
}
