import type { Tool } from "@modelcontextprotocol/server";
import { readTraceHeaders } from "../../shared/trace-context.ts";
import { AgentError } from "../../errors.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { isId } from "../../protocol/ids.ts";
import type { RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields, Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";

/** The name of the tool that answers questions of agents. */
export const ANSWER = "answer";

/** An operation of an agent, which is a tool. */
export interface AgentTool {
  readonly name: string;
  readonly agent: string;
  readonly operation: OperationDescriptor;
}

/** The tools of an agent, or of all agents. */
export function toolsOf(runtime: Runtime, agent: string | undefined): readonly AgentTool[] {
  const agents = agent === undefined ? runtime.agents : [agent];
  return agents.flatMap((name) =>
    runtime
      .describe(name)
      .operations.map((operation) => ({ name: toToolName(name, operation.name), agent: name, operation })),
  );
}

/** The tool with a name; undefined if there is none. */
export function findTool(
  runtime: Runtime,
  only: string | undefined,
  toolName: string,
): AgentTool | undefined {
  const [agent = "", operation = CHAT] = toolName.split("__", 2);
  const isServed = only === undefined ? runtime.agents.includes(agent) : agent === only;
  return isServed
    ? toolsOf(runtime, agent).find(({ name }) => name === toToolName(agent, operation))
    : undefined;
}

/** The names of agents have no `_`. */
function toToolName(agent: string, operation: string): string {
  return operation === CHAT && agent !== ANSWER ? agent : `${agent}__${operation}`;
}

const CHAT = "chat";

/** A tool as clients see it. A client that cannot be asked gets the question of an agent as a result. */
export function describeTool(
  runtime: Runtime,
  { name, agent, operation }: AgentTool,
  { canAsk }: { readonly canAsk: boolean },
): Tool {
  const { purpose } = runtime.describe(agent);
  const output = outputSchemaOf(operation);
  const isChat = operation.name === CHAT;
  return {
    name,
    title: isChat ? agent : `${agent}: ${operation.name}`,
    description: isChat || operation.description === "" ? purpose : operation.description,
    inputSchema: inputSchemaOf(operation),
    ...(output !== undefined && { outputSchema: canAsk ? output : orWaiting(output) }),
    ...(operation.read === true && { annotations: { readOnlyHint: true } }),
  } as Tool;
}

/** The schema of the structured result of a tool; undefined for that of a chat, which is a text. */
export function outputSchemaOf({ name, output_schema: output }: OperationDescriptor): JsonObject | undefined {
  return name === CHAT ? undefined : output;
}

/** Whether the arguments of a tool are the input of its operation. Otherwise the input is one of them. */
function isFlat({ input_schema: schema }: OperationDescriptor): boolean {
  return schema?.["type"] === "object";
}

function inputSchemaOf(operation: OperationDescriptor): JsonObject {
  const { input_schema: schema = {} } = operation;
  if (!isFlat(operation)) {
    const input = embed(schema, "/properties/input");
    const isRequired = operation.input_schema !== undefined;
    return {
      type: "object",
      properties: { input, run_id: RUN_ID },
      ...(isRequired && { required: ["input"] }),
    };
  }
  const own = isObject(schema["properties"]) ? schema["properties"] : {};
  return { ...schema, properties: { ...own, ...(own["run_id"] === undefined && { run_id: RUN_ID }) } };
}

const RUN_ID = {
  type: "string",
  description:
    "Goes on in this run, whose id is in the _meta of its earlier results. Without it a new run begins.",
};

/** The schema of a result that is either an output or a question. */
function orWaiting(output: JsonObject): JsonObject {
  const root = output["type"] === "object" ? { type: "object" } : {};
  return { ...root, anyOf: [embed(output, "/anyOf/0"), WAITING] };
}

const WAITING = {
  type: "object",
  properties: {
    waiting: { type: "object", description: "What the agent asks; the tool answer answers it." },
  },
  required: ["waiting"],
};

/** A schema at a place in another one: references to its own root lead to that place. */
function embed(schema: JsonObject, pointer: string): JsonObject {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "$ref" && typeof value === "string" && /^#(?:\/|$)/.test(value)
        ? `#${pointer}${value.slice(1)}`
        : value,
    ),
  ) as JsonObject;
}

/** The request that a call of a tool makes. Its `_meta` has the id that makes it idempotent, and its trace. */
export function toToolRequest(
  { operation }: AgentTool,
  given: Fields,
  meta: Readonly<Record<string, unknown>>,
): TurnRequest {
  const { request_id: id } = meta;
  const trace = readTraceHeaders((name) => {
    const value = meta[name];
    return typeof value === "string" ? value : undefined;
  });
  const ownsRunId = isFlat(operation) && hasProperty(operation, "run_id");
  const { run_id: runId, ...rest } = given;
  if (runId !== undefined && !ownsRunId && (typeof runId !== "string" || !isId(runId)))
    throw wrongField("run_id", "must be the id of a run");
  if (id !== undefined && (typeof id !== "string" || !isId(id)))
    throw wrongField("_meta.request_id", "must be 1 to 128 letters, digits, _ or -");
  const values = ownsRunId ? given : rest;
  const common = {
    ...(!ownsRunId && runId !== undefined && { run_id: runId as RunId }),
    ...(id !== undefined && { request_id: id }),
    ...(trace && { trace }),
  };
  // A chat that has no text is refused by the check of the request.
  if (operation.name === CHAT) return { type: "ChatRequest", input: values["input"] as string, ...common };
  const input = (isFlat(operation) ? values : (values["input"] ?? null)) as Json;
  return { type: "OperationRequest", operation: operation.name, input, ...common };
}

function hasProperty({ input_schema: schema }: OperationDescriptor, name: string): boolean {
  const properties = schema?.["properties"];
  return isObject(properties) && Object.hasOwn(properties, name);
}

/** The tool that answers a question, and gives the result of a request whose call was cut off. */
export const answerTool: Tool = {
  name: ANSWER,
  title: "Answer an agent",
  description:
    "Answers a question that an agent has asked in the result of another tool, and returns what comes of it. Without values it returns the result of the request.",
  inputSchema: {
    type: "object",
    properties: {
      request_id: {
        type: "string",
        description: "The request that asks, as the result with the question names it.",
      },
      wait_id: { type: "integer", description: "Which of its questions; default: the oldest." },
      values: { type: "object", description: "The answer, by the keys of the question." },
    },
    required: ["request_id"],
  },
};

/** What the tool `answer` is called with. */
export interface AnswerArguments {
  readonly requestId: string;
  readonly waitId: number | undefined;
  /** Values by key, or what a person has typed. */
  readonly values: JsonObject | string | undefined;
}

export function parseAnswerArguments({
  request_id: requestId,
  wait_id: waitId,
  values,
}: Fields): AnswerArguments {
  if (typeof requestId !== "string" || !isId(requestId))
    throw wrongField("request_id", "must be the id of a request");
  if (waitId !== undefined && !Number.isSafeInteger(waitId))
    throw wrongField("wait_id", "must be the number of a question");
  if (values !== undefined && typeof values !== "string" && !isObject(values))
    throw wrongField("values", "must be an object with the keys of the question");
  return {
    requestId,
    waitId: waitId as number | undefined,
    values: values as JsonObject | string | undefined,
  };
}

export function unknownTool(name: string): AgentError {
  return new AgentError("not_found", `there is no tool ${JSON.stringify(name.slice(0, 200))}`);
}
