import * as z from "zod";
import {
  artifactId,
  clientId,
  count,
  json,
  jsonObject,
  key,
  oneOf,
  optional,
  ordinal,
  requestId,
  runId,
  timestamp,
} from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { Hops } from "../actors.ts";
import type { JsonObject } from "../json.ts";
import { CALLERS_LIMIT } from "./requests.ts";
import type {
  Caller,
  CancelRequest,
  ChatRequest,
  ConfigureRequest,
  LoggingLevel,
  MessageRequest,
  OnBusy,
  OperationRequest,
  Request,
  ResumeWithInput,
  TurnRequestFields,
  Wait,
} from "./requests.ts";

/** Optional fields of a body that are not part of the request itself. */
export interface Beside {
  readonly wait?: boolean | Wait;
  readonly wait_ms?: number;
  /** Another name for `request_metadata`; merged into it. */
  readonly run_context?: JsonObject;
}

export const besideSchema: z.ZodType<Beside> = z.object({
  wait: optional(
    z.union([z.boolean(), oneOf<Wait>({ none: true, acknowledged: true, completed: true })], {
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

const hops: z.ZodType<Hops> = z.object({ n: count, since: timestamp } satisfies Shape<Hops>);
const ownId = optional(requestId).describe(
  "Chosen by the client, makes the request idempotent; if absent, the server generates one.",
);

const turnFields = {
  request_id: ownId,
  run_id: optional(runId).describe("The run to continue; absent creates a new one, unless there is a key."),
  key: optional(key).describe("A name of a run of the agent. The request creates the run if there is none."),
  request_metadata: optional(jsonObject).describe(
    "Data for the agent; ignored when two requests are compared.",
  ),
  logging_level: optional(
    oneOf<LoggingLevel>({ minimal: true, default: true, tools: true, llm: true, agents: true, all: true }),
  ).describe("Which events readers of the request get."),
  on_busy: optional(oneOf<OnBusy>({ enqueue: true, reject: true, interrupt: true })).describe(
    "What happens when the run is busy: enqueue, reject the request, or cancel the running one.",
  ),
  attachments: optional(z.array(artifactId).max(100)).describe("Ids of uploaded artifacts for the agent."),
  caller: optional(z.array(caller).max(CALLERS_LIMIT)).describe(
    "The turns of agents that led to this request, newest last; ignored when two requests are compared.",
  ),
  depth: optional(count).describe("The depth of the asked agent below its callers; 0 for a client."),
  hops: optional(hops).describe(
    "How many requests led to this one without a caller that waits, and since when.",
  ),
} satisfies Shape<TurnRequestFields>;

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
