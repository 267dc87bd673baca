import * as z from "zod";
import {
  artifactId,
  clientId,
  count,
  json,
  jsonObject,
  oneOf,
  optional,
  ordinal,
  requestId,
  runId,
} from "./fields.ts";
import type { Shape } from "./fields.ts";
import type { JsonObject } from "./json.ts";
import type {
  CancelRequest,
  ChatRequest,
  ConfigureRequest,
  LoggingLevel,
  OnBusy,
  OperationRequest,
  Request,
  ResumeWithInput,
  TurnRequestFields,
  Wait,
} from "./requests.ts";

/** What a body may carry beside the request itself. */
export interface Beside {
  readonly wait?: boolean | Wait;
  readonly wait_ms?: number;
  /** Another name for `request_metadata`, and merged into it. */
  readonly run_context?: JsonObject;
}

/** The schema of what a body may carry beside the request itself. */
export const besideSchema: z.ZodType<Beside> = z.object({
  wait: optional(
    z.union([z.boolean(), oneOf<Wait>({ none: true, acknowledged: true, completed: true })], {
      error: "must be true, false, acknowledged or completed",
    }),
  ).describe(
    "How long to wait for the answer: true or acknowledged until the request is acknowledged, completed until it ends or waits for input.",
  ),
  wait_ms: optional(count).describe(
    "How long to wait at most, in milliseconds; 30000 when absent, never more than 600000.",
  ),
  run_context: optional(jsonObject).describe(
    "Another name for request_metadata. The two are merged; request_metadata wins.",
  ),
} satisfies Shape<Beside>);

const turnFields = {
  request_id: optional(requestId).describe(
    "Chosen by the client, it makes the request idempotent; otherwise the server makes one.",
  ),
  run_id: optional(runId).describe("The run to continue; absent starts a new one."),
  request_metadata: optional(jsonObject).describe(
    "Anything the agent should know about the request; it is not part of what makes a request equal to another.",
  ),
  logging_level: optional(
    oneOf<LoggingLevel>({ minimal: true, default: true, tools: true, llm: true, agents: true, all: true }),
  ).describe("Which events the readers of the request are given."),
  on_busy: optional(oneOf<OnBusy>({ enqueue: true, reject: true, interrupt: true })).describe(
    "What happens when the run is busy: wait in line, be refused, or cancel what is running.",
  ),
  attachments: optional(z.array(artifactId).max(100)).describe(
    "The ids of artifacts uploaded before, handed to the agent.",
  ),
} satisfies Shape<TurnRequestFields>;

/** The schema of each request by its type. */
export const requestSchemas: {
  readonly [Type in Request["type"]]: z.ZodType<Extract<Request, { readonly type: Type }>>;
} = {
  ChatRequest: z
    .object({
      type: z.literal("ChatRequest"),
      input: z.string().describe("What to say to the agent."),
      ...turnFields,
    } satisfies Shape<ChatRequest>)
    .describe("Says something to an agent."),

  OperationRequest: z
    .object({
      type: z.literal("OperationRequest"),
      operation: z.string().min(1).describe("One of the operations that the agent's description lists."),
      input: json.describe("What the operation takes; an empty object where it takes nothing."),
      ...turnFields,
    } satisfies Shape<OperationRequest>)
    .describe("Asks an agent for one of its operations."),

  ConfigureRequest: z
    .object({
      type: z.literal("ConfigureRequest"),
      args: jsonObject.describe("The settings, by name."),
      run_id: optional(runId).describe("The run to configure; absent configures the agent for later runs."),
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
      run_id: optional(runId).describe("Its run; enough when exactly one request of the run waits."),
      wait_id: optional(ordinal).describe("Which wait; needed when several are open."),
      request_keys: jsonObject.describe("A value for each key that was asked for."),
      resume_id: optional(clientId).describe("Chosen by the client, it makes the answer idempotent."),
    } satisfies Shape<ResumeWithInput>)
    .meta({ anyOf: [{ required: ["request_id"] }, { required: ["run_id"] }] })
    .describe("Answers a request that waits for input."),
};
