import * as z from "zod";
import { belongsToRun, CALLEE_KINDS, MACHINE_STATUSES } from "./events.ts";
import { roleOf } from "./roles.ts";
import { COMPLETION_ERROR_CODES, TOOL_ERROR_CODES } from "./outcome-codes.ts";
import type { CallMode, SenderRef } from "../actors.ts";
import type { ConfigureCompleted } from "../answers/answers.ts";
import type { Approval, Callee, Event, EventBody, EventType, StateStep } from "./events.ts";
import {
  artifactId,
  callId,
  clientId,
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

/** An event of one type, as clients see it. */
export type EventOf<Type extends EventType> = Event & { readonly type: Type };

type BodyFields<Type extends EventType> = Omit<Extract<EventBody, { readonly type: Type }>, "type">;

const text = z.string();
const callee: z.ZodType<Callee> = z.object({
  kind: z.enum(CALLEE_KINDS),
  name: text.describe("Its own name."),
  key: text.exactOptional().describe("The key of an actor."),
  run_id: runId.exactOptional().describe("The run of an actor that is not addressed by key."),
  request_id: requestId.exactOptional().describe("The request that an actor gets."),
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

const deadline = timestamp
  .exactOptional()
  .describe("The time at which the call fails with timeout, if it has not ended before.");
const artifact = { name: text, artifact_id: artifactId, url: text, mime_type: text, size_bytes: count };

const completed = {
  finish_reason: finishReason,
  result: text.nullable().describe("The answer as text; for a chat all text of the agent."),
  result_truncated: z.boolean().exactOptional(),
  output: json.describe("The answer as a value."),
  error: turnError.exactOptional().describe("Present if finish_reason is error."),
  usage: usage.exactOptional(),
} satisfies Shape<BodyFields<"RequestCompleted">>;

export const eventSchemas: { readonly [Type in EventType]: z.ZodType<EventOf<Type>> } = {
  RequestStarted: event("RequestStarted", "The agent has started to work on a request.", {
    operation: text,
    input: json,
    attachments: z.array(artifactId).exactOptional(),
    config_version: count.exactOptional(),
    agent_version: text.exactOptional().describe("The version of the agent's code."),
    sender: sender.exactOptional().describe("The actor that sent the request."),
    accepted_at: timestamp.exactOptional().describe("When the request was accepted, if it was queued."),
  }),
  WaitForInput: event(
    "WaitForInput",
    "The agent needs an answer before it can continue.",
    {
      request_keys: questions.describe("A description for each requested value."),
      schema: jsonObject.exactOptional().describe("JSON Schema of the values."),
      approval: z
        .object({ tool: text, args: json } satisfies Shape<Approval>)
        .exactOptional()
        .describe("The call that is to be approved; the answer {approved: true} approves it."),
      expires_at: timestamp
        .exactOptional()
        .describe("When the wait ends without an answer; absent without a time limit."),
      call_id: callId,
    },
    { wait_id: ordinal.describe("Names the wait in the answer; equal to the event's id.") },
  ),
  WaitExpired: event("WaitExpired", "The time limit of a wait has passed; it takes no answer any more.", {
    wait_id: ordinal,
  }),
  ResumeWithInput: event("ResumeWithInput", "A wait was answered.", {
    wait_id: ordinal,
    request_keys: jsonObject,
    resume_id: clientId.exactOptional(),
  }),
  CancelRequest: event("CancelRequest", "The request was canceled; its RequestCompleted follows.", {}),
  MessageReceived: event("MessageReceived", "A message has arrived.", {
    message_id: requestId.describe("The request_id of the message."),
    name: text,
    body: json,
    sender: sender.exactOptional().describe("The actor that sent the message."),
  }),
  TextOutput: event("TextOutput", "The agent wrote a text.", {
    content: text,
    branch,
    call_id: callId.exactOptional().describe("The completion that the text comes from."),
    attempt,
  }),
  ToolCall: event("ToolCall", "The agent calls a tool or another agent.", {
    function_name: text,
    args: json,
    tool_call_id: callId,
    callee: callee.exactOptional().describe("What is called. function_name is the caller's name for it."),
    attempt,
    mode: oneOf<CallMode>({ ask: true, tell: true })
      .exactOptional()
      .describe(
        "Present for an actor: an ask ends with its answer, a tell when it has accepted the request.",
      ),
    expires_at: deadline,
    retry_of: callId
      .exactOptional()
      .describe("The tool_call_id of the first attempt, if this call is a later attempt of it."),
  }),
  ToolResult: event("ToolResult", "A call ended with a result.", {
    function_name: text,
    text_result: text,
    result: json,
    tool_call_id: callId,
  }),
  ToolError: event("ToolError", "A call ended without a result.", {
    function_name: text,
    content: text,
    code: z.enum(TOOL_ERROR_CODES),
    tool_call_id: callId,
  }),
  ToolTextOutput: event("ToolTextOutput", "A tool reports its progress.", {
    content: text,
    tool_call_id: callId,
    branch,
    progress: z
      .literal(true)
      .exactOptional()
      .describe(
        "Set if it reports progress on something outside, which may be repeated after an interruption.",
      ),
  }),
  CompletionCall: event("CompletionCall", "The agent asks a model for a completion.", {
    model: text,
    call_id: callId,
    attempt: ordinal.describe("Above 1, it replaces the text of earlier attempts."),
    expires_at: deadline,
  }),
  CompletionResult: event("CompletionResult", "A model has completed.", {
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
  }),
  ReasoningOutput: event("ReasoningOutput", "Reasoning of a model before its answer.", {
    content: text,
    call_id: callId,
    attempt: ordinal,
  }),
  ArtifactGenerated: event("ArtifactGenerated", "The agent published a file.", artifact),
  ArtifactUploaded: event("ArtifactUploaded", "A client added a file to the run.", artifact),
  StateChanged: event("StateChanged", "The agent's state machine took transitions for an event.", {
    value: json.describe("XState's state value: a state's name, or an object of names by region."),
    cause: text.describe("The event, as in the steps."),
    steps: z.array(step).describe("The transitions in order, at most 32."),
    steps_truncated: z.literal(true).exactOptional().describe("Set if there were more steps."),
    status: z.enum(MACHINE_STATUSES),
    chart: text.describe("The hash of the chart, as in the agent's description."),
    machine: text
      .exactOptional()
      .describe("The place of a machine inside the agent's machine: ids of actors, joined by `/`."),
  }),
  Sleeping: event("Sleeping", "The agent does nothing for a second or more.", {
    call_id: callId,
    until: timestamp,
  }),
  Custom: event("Custom", "The agent's state machine emitted an event of its own.", {
    name: text,
    body: json,
  }),
  RunCreated: event("RunCreated", "A run was created without a request, or to continue another one.", {
    input: json,
    metadata: jsonObject,
    key: text.exactOptional().describe("The name by which the run is found."),
    continues: runId
      .exactOptional()
      .describe("The run whose key, memory and configuration it has taken over."),
  }),
  Renewed: event("Renewed", "The actor continues in another run; no event follows.", {
    to: runId.describe("The run that has the key from now on."),
    key: text.describe("The key that the run had."),
  }),
  RequestCompleted: event("RequestCompleted", "The turn has ended; no event of it follows.", completed),
};

/** The schema of the answer to a configuration: a RequestCompleted that is not in the log. */
export const configureCompletedSchema: z.ZodType<ConfigureCompleted> = event(
  "RequestCompleted",
  "The configuration was accepted; it applies from the next request on.",
  completed,
  {
    id: z.literal(0),
    run_id: runId.nullable().describe("null for the configuration of an agent."),
  },
) as unknown as z.ZodType<ConfigureCompleted>;

/** The types of all events. */
export const eventTypes: readonly EventType[] = Object.keys(eventSchemas) as EventType[];

// All events have the same address, so only the fields of the body are compared with the type here.
function event<Type extends EventType>(
  type: Type,
  description: string,
  fields: Shape<BodyFields<Type>>,
  more: { readonly [name: string]: z.ZodType } = {},
): z.ZodType<EventOf<Type>> {
  const schema = z.object({
    id: ordinal.describe("1, 2, 3 … without a gap in the run."),
    run_id: runId,
    request_id: requestIdIn(type),
    agent: text.min(1).describe("Who speaks."),
    type: z.literal(type),
    role: z.literal(roleOf(type)),
    depth: count.describe("0 for the requested agent, plus one for each call in between."),
    ts: timestamp,
    parent_call_id: callId
      .exactOptional()
      .describe("The call during which the event occurred, at depth 1 and more."),
    forked_from: z
      .object({ run_id: runId, id: ordinal })
      .exactOptional()
      .describe("The original event, if the run is a fork."),
    ...fields,
    ...more,
  });
  return schema.describe(description) as unknown as z.ZodType<EventOf<Type>>;
}

function requestIdIn(type: EventType): z.ZodType {
  if (belongsToRun(type)) return z.null().describe("The event belongs to no request.");
  if (type !== "MessageReceived") return requestId;
  return requestId.nullable().describe("The request whose turn is open; null if there is none.");
}
