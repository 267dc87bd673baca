import * as z from "zod";
import type { Accepted, AgentEntry, UploadedArtifact } from "./answers.ts";
import type { AgentDescriptor, MessageDescriptor, OperationDescriptor } from "./descriptor.ts";
import { TURN_ERROR_CODES } from "../events/outcome-codes.ts";
import {
  artifactId,
  count,
  finishReason,
  json,
  jsonObject,
  oneOf,
  ordinal,
  questions,
  requestId,
  runId,
  timestamp,
  turnError,
  usage,
} from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { Issue } from "../schema/check-json.ts";
import type { Problem, ProblemCode } from "./problem.ts";
import { STATE_TYPES } from "./statechart.ts";
import type { Statechart, StatechartEdge, StatechartNode } from "./statechart.ts";
import type {
  LastTurn,
  RequestPhase,
  RequestStatus,
  RunPhase,
  RunRequest,
  RunStatus,
  RunSummary,
  WaitingFor,
} from "./status.ts";

/** The answers of the routes, except events, by name. */
export interface AnswerTypes {
  readonly AgentEntry: AgentEntry;
  readonly AgentDescriptor: AgentDescriptor;
  readonly Accepted: Accepted;
  readonly RequestStatus: RequestStatus;
  readonly RunSummary: RunSummary;
  readonly RunStatus: RunStatus;
  readonly UploadedArtifact: UploadedArtifact;
  readonly Problem: Problem;
}

const text = z.string();

const operation = z.object({
  name: text,
  description: text,
  input_schema: jsonObject
    .exactOptional()
    .describe("JSON Schema of the input; absent if any JSON is accepted."),
  output_schema: jsonObject.exactOptional().describe("JSON Schema of the output."),
} satisfies Shape<OperationDescriptor>);

const message = z.object({
  name: text,
  body_schema: jsonObject
    .exactOptional()
    .describe("JSON Schema of the body; absent if any JSON is accepted."),
} satisfies Shape<MessageDescriptor>);

const edge = z.object({
  event: text.exactOptional().describe("As in StateChanged; absent for an eventless transition."),
  to: text.exactOptional().describe("Absent if the machine stays in its states."),
  guard: text.exactOptional(),
  actions: z.array(text).exactOptional(),
} satisfies Shape<StatechartEdge>);

const state = z.object({
  id: text.describe("Its path below the root, as `checkout.paying`; empty for the root."),
  type: z.enum(STATE_TYPES),
  initial: text.exactOptional().describe("The id of the state that it starts in."),
  tags: z.array(text).exactOptional(),
  description: text.exactOptional(),
  states: (z.array(jsonObject) as unknown as z.ZodType<StatechartNode["states"]>).describe(
    "The states inside it, in the same form.",
  ),
  edges: z.array(edge),
} satisfies Shape<StatechartNode>);

const chartFields = { hash: text.describe("StateChanged has it as `chart`."), root: state };

const statechart = z.object({
  ...chartFields,
  machines: z
    .array(z.object(chartFields))
    .exactOptional()
    .describe("The charts of the machines inside the machine, at any depth."),
} satisfies Shape<Statechart>);

const lastTurn = z
  .object({
    request_id: requestId,
    operation: text,
    started_at: timestamp,
    ended_at: timestamp.exactOptional().describe("Absent while the turn is not at its end."),
    finish_reason: finishReason.exactOptional(),
    error_code: z.enum(TURN_ERROR_CODES).exactOptional(),
  } satisfies Shape<LastTurn>)
  .describe("The newest turn of the run.");

const runSummary = {
  run_id: runId,
  agent: text,
  status: oneOf<RunPhase>({ idle: true, running: true, waiting: true }),
  created_at: timestamp,
  updated_at: timestamp,
  initial_input: json,
  turns: count,
  key: text.exactOptional().describe("The name that the run was created with."),
  forked_from: z
    .object({ run_id: runId, id: count })
    .exactOptional()
    .describe("The run and event that this run was forked from."),
  last_event_id: count,
  last_turn: lastTurn
    .exactOptional()
    .describe("Absent before the first turn, for a fork before its first own turn, and for older logs."),
  open_waits: count.describe("The number of open waits."),
  queued: count.describe("The number of queued requests."),
  wake_at: timestamp.exactOptional().describe("When the request at rest continues by itself."),
  usage: usage.exactOptional().describe("The usage of all turns that have ended."),
} satisfies Shape<RunSummary>;
const requestPhase = oneOf<RequestPhase>({ queued: true, running: true, waiting: true, completed: true });

const runRequest = z.object({
  request_id: requestId,
  status: requestPhase,
  created_at: timestamp,
  started: ordinal.exactOptional().describe("The id of its first event; absent while it is queued."),
  completed: ordinal.exactOptional().describe("The id of its last event, once it has ended."),
} satisfies Shape<RunRequest>);

const issue = z.object({
  path: text.describe("Path from the root of the body, joined by dots."),
  message: text,
} satisfies Shape<Issue>);

const waitingFor: z.ZodType<WaitingFor> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("input"), wait_id: ordinal, expires_at: timestamp.exactOptional() }),
  z.object({ kind: z.literal("sleep"), expires_at: timestamp }),
  z.object({ kind: z.literal("message"), name: text, expires_at: timestamp.exactOptional() }),
  z.object({
    kind: z.literal("actor"),
    agent: text,
    key: text.exactOptional(),
    run_id: runId.exactOptional(),
    request_id: requestId.describe("The request there."),
    expires_at: timestamp.exactOptional(),
  }),
]);

export const answerSchemas: { readonly [Name in keyof AnswerTypes]: z.ZodType<AnswerTypes[Name]> } = {
  AgentEntry: z
    .object({
      name: text,
      path: text.describe("The path of the agent's routes, relative to the list."),
    } satisfies Shape<AgentEntry>)
    .describe("An agent of this server."),

  AgentDescriptor: z
    .object({
      name: text,
      purpose: text,
      version: text.exactOptional(),
      endpoints: z.array(text),
      operations: z.array(operation).describe("The agent's operations, including chat."),
      messages: z.array(message).exactOptional().describe("The messages that the agent's runs accept."),
      tools: z.array(text).describe("The tools and agents it calls; informative."),
      keys: z.boolean().exactOptional().describe("Whether requests can name a run by key."),
      statechart: statechart.exactOptional().describe("Its chart, if the agent is a state machine."),
      config_schema: jsonObject.exactOptional().describe("JSON Schema of the args of a ConfigureRequest."),
    } satisfies Shape<AgentDescriptor>)
    .describe("The description of an agent."),

  Accepted: z
    .object({
      request_id: requestId,
      run_id: runId.nullable().describe("null only for the configuration of an agent."),
    } satisfies Shape<Accepted>)
    .describe("The request was accepted; read its events for the result."),

  RequestStatus: z
    .object({
      request_id: requestId,
      run_id: runId,
      agent: text,
      operation: text,
      status: requestPhase,
      finish_reason: finishReason.exactOptional(),
      result: text.nullable().exactOptional(),
      output: json.exactOptional(),
      error: turnError.exactOptional(),
      request_keys: questions.exactOptional().describe("The questions of the oldest open wait."),
      wait_id: ordinal.exactOptional().describe("The oldest open wait."),
      state: json.exactOptional().describe("XState's state value, if the agent is a state machine."),
      accepts: z
        .array(text)
        .exactOptional()
        .describe("The operations that the machine takes now; its guards are not considered."),
      waiting_for: waitingFor
        .exactOptional()
        .describe("What the request waits for from outside; clients ignore kinds that they do not know."),
      wake_at: timestamp.exactOptional().describe("When the request at rest continues by itself."),
      created_at: timestamp,
      completed_at: timestamp.exactOptional(),
      last_event_id: count.describe("The id of the request's newest event, 0 when it has none."),
    } satisfies Shape<RequestStatus>)
    .describe("The state of a request."),

  RunSummary: z.object(runSummary).describe("A run in the list of runs."),

  RunStatus: z
    .object({
      ...runSummary,
      requests: z.array(runRequest).describe("Its newest requests, the newest first."),
    } satisfies Shape<RunStatus>)
    .describe("A run and its newest requests."),

  UploadedArtifact: z
    .object({ artifact_id: artifactId, url: text } satisfies Shape<UploadedArtifact>)
    .describe("The address of an uploaded file."),

  Problem: z
    .object({
      type: text,
      title: text,
      status: z.int(),
      code: oneOf<ProblemCode>({
        invalid_request: true,
        unauthorized: true,
        forbidden: true,
        not_found: true,
        method_not_allowed: true,
        request_timeout: true,
        conflict: true,
        gone: true,
        too_large: true,
        unsupported_media_type: true,
        misdirected: true,
        unprocessable: true,
        overloaded: true,
        run_full: true,
        too_deep: true,
        would_deadlock: true,
        not_accepted: true,
        internal: true,
        unavailable: true,
        timeout: true,
        insufficient_storage: true,
      }),
      detail: text.describe("Names the thing and the fact."),
      hint: text.exactOptional().describe("How to fix it."),
      errors: z.array(issue).exactOptional().describe("Each fault of the request."),
    } satisfies Shape<Problem>)
    .describe("Why a request was refused (RFC 9457)."),
};
