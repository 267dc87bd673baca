import fc from "fast-check";
import { checkJson } from "../../src/protocol/schema/check-json.ts";
import type { SpeakerAddress } from "../../src/protocol/events/encode.ts";
import { CALLEE_KINDS, MACHINE_STATUSES } from "../../src/protocol/actors.ts";
import { belongsToRun } from "../../src/protocol/events/events.ts";
import type { EventBody, EventType } from "../../src/protocol/events/event-body.ts";
import { HOLD_CODES } from "../../src/protocol/events/outcome-codes.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../../src/protocol/ids.ts";
import type { Json, JsonObject } from "../../src/protocol/json.ts";
import type { Request } from "../../src/protocol/requests/requests.ts";

const ID = /^[A-Za-z0-9_-]{1,20}$/;

/** Texts of every kind: line breaks, quotes, emoji, and names of our own fields. */
const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.constantFrom('"', "\\", "\r\n", "\u2028", "\u0000", ',"type":"', ',"depth":1,', ',"request_id":"x"'),
);

/** JSON values that are equal after a round trip. */
export const json: fc.Arbitrary<Json> = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** Field names; the one that sets a prototype is always refused. */
const key = fc.string().filter((name) => name !== "__proto__");

const jsonObject: fc.Arbitrary<JsonObject> = fc
  .dictionary(key, json, { noNullPrototype: true })
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

export const runId: fc.Arbitrary<RunId> = fc.stringMatching(ID).map((id) => id as RunId);
export const requestId: fc.Arbitrary<RequestId> = fc.stringMatching(ID).map((id) => id as RequestId);
const artifactId = fc.stringMatching(ID).map((id) => id as ArtifactId);
const callId = fc.stringMatching(/^c[1-9]{1,3}(\.[1-9]{1,3}){1,4}$/).map((id) => id as CallId);
const count = fc.nat();
const file = { name: text, artifact_id: artifactId, url: text, mime_type: text, size_bytes: count };
const time = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
  .map((at) => at.toISOString());
const attempt = fc.integer({ min: 1, max: 9 });

/** The address of a speaker; its name can contain anything, like that of a remote agent. */
export const speakerAddress: fc.Arbitrary<SpeakerAddress> = fc.record(
  {
    run_id: fc.option(runId, { freq: 20 }),
    request_id: fc.option(requestId),
    agent: fc.oneof(
      fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
      text.filter((name) => name !== ""),
    ),
    depth: fc.integer({ min: 0, max: 8 }),
    parent_call_id: callId,
  },
  { requiredKeys: ["run_id", "request_id", "agent", "depth"] },
);

/** The address of a logged event: in a run, and in a request unless it belongs to none. */
export function addressFor(type: EventType): fc.Arbitrary<SpeakerAddress> {
  return fc.tuple(speakerAddress, runId, requestId).map(([place, run_id, request_id]) => ({
    ...place,
    run_id,
    request_id: belongsToRun(type) ? null : request_id,
  }));
}

/** Every type of event body. Keys are in the order of the type. */
export const bodies: { readonly [Type in EventType]: fc.Arbitrary<EventBody> } = {
  RequestStarted: some(
    "RequestStarted",
    { operation: text, input: json },
    { attachments: fc.array(artifactId), config_version: count },
  ),
  WaitForInput: some(
    "WaitForInput",
    { request_keys: fc.dictionary(key, text, { noNullPrototype: true }) },
    { schema: jsonObject, approval: fc.record({ tool: text, args: json }), expires_at: time },
    { call_id: callId },
  ),
  WaitExpired: some("WaitExpired", { wait_id: attempt }),
  ResumeWithInput: some(
    "ResumeWithInput",
    { wait_id: attempt, request_keys: jsonObject },
    { resume_id: runId },
  ),
  CancelRequest: some("CancelRequest", {}),
  RequestHeld: some(
    "RequestHeld",
    { code: fc.constantFrom(...HOLD_CODES), message: text },
    { scope: text, expected: text, found: text, at: text },
  ),
  RequestContinued: some("RequestContinued", {}),
  RequestCanceling: some("RequestCanceling", {
    finish_reason: fc.constantFrom("canceled" as const, "error" as const),
  }),
  RequestRestarted: some(
    "RequestRestarted",
    {
      error: fc.constant({ code: "agent_error", message: "it broke" } as const),
      restart: fc.integer({ min: 1 }),
    },
    { until: time },
  ),
  ActorStopped: some("ActorStopped", {
    error: fc.constant({ code: "agent_error", message: "it broke" } as const),
  }),
  ActorResumed: some("ActorResumed", {}),
  MessageReceived: some("MessageReceived", { message_id: requestId, name: text, body: json }),
  TextOutput: some("TextOutput", { content: text }, { branch: text, call_id: callId, attempt }),
  ToolCall: some(
    "ToolCall",
    { function_name: text, args: json, tool_call_id: callId },
    { attempt },
    { callee: fc.record({ kind: fc.constantFrom(...CALLEE_KINDS), name: text }) },
    {},
    { expires_at: time, retry_of: callId },
  ),
  ToolResult: some("ToolResult", {
    function_name: text,
    text_result: text,
    result: json,
    tool_call_id: callId,
  }),
  ToolError: some("ToolError", {
    function_name: text,
    content: text,
    code: fc.constantFrom("tool_error", "invalid_input", "interrupted", "canceled", "timeout", "overloaded"),
    tool_call_id: callId,
  }),
  ToolTextOutput: some(
    "ToolTextOutput",
    { content: text, tool_call_id: callId },
    { branch: text, progress: fc.constant(true) },
  ),
  CompletionCall: some("CompletionCall", { model: text, call_id: callId, attempt }, { expires_at: time }),
  StateChanged: some(
    "StateChanged",
    {
      value: json,
      cause: text,
      steps: fc.array(fc.record({ from: text, event: text, to: text }, { requiredKeys: ["from"] })),
      status: fc.constantFrom(...MACHINE_STATUSES),
      chart: text,
    },
    { steps_truncated: fc.constant(true) },
  ),
  CompletionRetry: some(
    "CompletionRetry",
    { model: text, call_id: callId, attempt, error: text },
    { error_code: fc.constant("model_unavailable" as const), until: time },
  ),
  Sleeping: some("Sleeping", { call_id: callId, until: time }),
  Custom: some("Custom", { name: text, body: json }),
  ReasoningOutput: some("ReasoningOutput", {
    content: text,
    call_id: callId,
    attempt: fc.integer({ min: 1, max: 3 }),
  }),
  CompletionResult: some(
    "CompletionResult",
    {
      model: text,
      call_id: callId,
      usage: fc.record(
        { input_tokens: count, output_tokens: count, cost: fc.double({ min: 0, max: 9, noNaN: true }) },
        { requiredKeys: [] },
      ),
      elapsed_ms: count,
      result: json,
    },
    { error: text, error_code: fc.constantFrom("timeout", "overloaded") },
  ),
  ArtifactGenerated: some("ArtifactGenerated", file),
  ArtifactUploaded: some("ArtifactUploaded", file),
  RunCreated: some("RunCreated", { input: json, metadata: jsonObject }, { key: text }, { continues: runId }),
  Renewed: some("Renewed", { to: runId, key: text }),
  RequestCompleted: some(
    "RequestCompleted",
    { finish_reason: fc.constantFrom("success", "error", "canceled"), result: fc.option(text) },
    { result_truncated: fc.boolean() },
    { output: json },
    {
      error: fc.record({ code: fc.constantFrom("agent_error", "timeout", "canceled"), message: text }),
      usage: fc.record({ input_tokens: count }),
    },
  ),
};

export const body: fc.Arbitrary<EventBody> = fc.oneof(...Object.values(bodies));

/** An event and its parts. */
export const event: fc.Arbitrary<{
  readonly address: SpeakerAddress;
  readonly id: number;
  readonly ts: string;
  readonly body: EventBody;
}> = fc.record({
  address: speakerAddress,
  id: fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  ts: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((at) => at.toISOString()),
  body,
});

/** An arbitrary of one event type: groups of fields in order, alternating required and optional. */
function some(
  type: EventBody["type"],
  ...groups: Record<string, fc.Arbitrary<unknown>>[]
): fc.Arbitrary<EventBody> {
  const records = groups.map((fields, index) =>
    index % 2 === 0 ? fc.record(fields) : fc.record(fields, { requiredKeys: [] }),
  );
  return fc
    .tuple(...records)
    .map((parts) => Object.assign({ type }, ...parts.map((part) => ({ ...part }))) as EventBody);
}

const turnFields = {
  request_id: requestId,
  run_id: runId,
  request_metadata: safe(jsonObject),
  logging_level: fc.constantFrom("minimal", "default", "tools", "llm", "agents", "all"),
  on_busy: fc.constantFrom("enqueue", "reject", "interrupt"),
  attachments: fc.array(artifactId, { maxLength: 3 }),
};

/** Every type of request, as a client that follows the schemas sends it. */
export const requests: { readonly [Type in Request["type"]]: fc.Arbitrary<Request> } = {
  ChatRequest: request("ChatRequest", { input: safe(text) }, turnFields),
  OperationRequest: request(
    "OperationRequest",
    { operation: fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/), input: safe(json) },
    turnFields,
  ),
  ConfigureRequest: request("ConfigureRequest", { args: safe(jsonObject) }, { run_id: runId }),
  Message: request(
    "Message",
    { name: fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/), body: safe(json), run_id: runId },
    { key: runId, request_id: requestId },
  ),
  CancelRequest: request("CancelRequest", { request_id: requestId }, {}),
  ResumeWithInput: request(
    "ResumeWithInput",
    { request_keys: safe(jsonObject), request_id: requestId },
    { run_id: runId, wait_id: attempt, resume_id: runId },
  ),
};

/** Any request. */
export const anyRequest: fc.Arbitrary<Request> = fc.oneof(...Object.values(requests));

/** Removes what the guards refuse. */
function safe<Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return values.filter((value) => checkJson(value).length === 0);
}

function request(
  type: Request["type"],
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<Request> {
  return fc
    .tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }))
    .map(([first, second]) => ({ type, ...first, ...second }) as Request);
}
