import { AgentError } from "../../errors.ts";
import { parseObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { Agent, Operation } from "./agent.ts";
import { CHAT } from "./agent.ts";
import { anyValue } from "./definition/handwritten-schema.ts";
import { TOPIC_AGENT, isPublishable } from "./topic.ts";
import type { RemoteHandler } from "./remote-port.ts";
import { toJsonSchema } from "./definition/schema.ts";

/** An operation with its input. */
export interface Invocation {
  readonly name: string;
  readonly operation: Operation;
  readonly input: Json;
}

/** The operation that a request names; throws `not_found` if the agent does not have it. */
export function toAsked(agent: Agent, request: TurnRequest): Invocation | undefined {
  if (agent.remote) return checkedRemote(agent, agent.remote, request);
  if (request.type === "ChatRequest") return fromText(agent, request.input);
  const { operation: name, input } = request;
  const operation = agent.operations[name];
  if (operation && Object.hasOwn(agent.operations, name)) return { name, operation, input };
  const text = (input as { readonly input?: unknown } | null)?.input;
  if (name === CHAT && typeof text === "string") return fromText(agent, text);
  throw noOperation(agent, name);
}

/** Whether a request names an operation that only reads, and leaves nothing in the log. */
export function isRead(agent: Agent, request: TurnRequest): boolean {
  return toRead(agent, request)?.logged === false;
}

/** Whether a request names an operation that only reads, and is in the log. */
export function isLoggedRead(agent: Agent, request: TurnRequest): boolean {
  return toRead(agent, request)?.logged === true;
}

/**
 * How the operation that a request names reads; `undefined` if it does more. A chat is always a turn, also where it is passed to
 * an operation that only reads.
 */
function toRead(
  { operations, remote }: Agent,
  request: TurnRequest,
): { readonly logged: boolean } | undefined {
  if (request.type !== "OperationRequest" || remote !== undefined) return undefined;
  const { operation: name } = request;
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  return operation?.read === true ? { logged: operation.logged === true } : undefined;
}

/** Whether a name is that of a message of the agent. Messages and operations have different names. */
export function isMessageName({ name: agent, messages = {} }: Agent, name: string): boolean {
  return agent === TOPIC_AGENT ? isPublishable(name) : Object.hasOwn(messages, name);
}

/** The operation that a call names; `undefined` for a chat that fits none of the agent's operations. */
export function toInvocation(agent: Agent, name: string, input: Json): Invocation | undefined {
  if (agent.remote) return { name, operation: remoteOperation(agent, name), input };
  return toAsked(agent, { type: "OperationRequest", operation: name, input });
}

/** The message for an agent without a matching chat; it lists the operations. */
export function noChat({ name, operations }: Agent): string {
  return `agent ${name} has no chat; use one of its operations: ${Object.keys(operations).join(", ")}`;
}

/** The operation that a request names on a remote agent, which may have operations that are not known yet. */
export function toRemoteInvocation(agent: Agent, request: TurnRequest): Invocation {
  const name = request.type === "ChatRequest" ? CHAT : request.operation;
  const input = request.type === "ChatRequest" ? { input: request.input } : request.input;
  return { name, operation: remoteOperation(agent, name), input };
}

/** An operation of a remote agent; if it is unknown, one that accepts any input. */
export function remoteOperation({ operations }: Agent, name: string): Operation {
  return (Object.hasOwn(operations, name) ? operations[name] : undefined) ?? ANYTHING;
}

/** The operation names in a description; every agent has a chat. */
export function operationNames(agent: Agent): readonly string[] {
  return [...new Set([CHAT, ...Object.keys(agent.operations)])];
}

/** The chat of an agent that defines none, as its description shows it: it says which operation gets the text. */
export function toForwardedChat(agent: Agent): Pick<Operation, "description" | "output"> {
  const only = onlyOperation(agent);
  if (only === undefined) {
    const names = Object.keys(agent.operations).join(", ");
    return { description: `The text is JSON: {"operation": …, "input": …}. The operations: ${names}.` };
  }
  const { name, operation, textKey } = only;
  const text = textKey === undefined ? "its input as JSON" : `its ${textKey}`;
  const description = `Calls ${name}; the text is ${text}. ${operation.description}`.trimEnd();
  return { description, ...(operation.output && { output: operation.output }) };
}

function checkedRemote(agent: Agent, { known }: RemoteHandler, request: TurnRequest): Invocation {
  const asked = toRemoteInvocation(agent, request);
  if (known && asked.operation === ANYTHING) throw noOperation(agent, asked.name);
  return asked;
}

function noOperation(agent: Agent, name: string): AgentError {
  return new AgentError("not_found", `agent ${agent.name} has no operation ${name}`, {
    hint: `its operations: ${operationNames(agent).join(", ")}`,
  });
}

const ANYTHING: Operation = {
  description: "",
  input: anyValue,
  run() {},
};

/** Converts a chat to an operation; `undefined` if no operation accepts a text. */
function fromText(agent: Agent, text: string): Invocation | undefined {
  const { chat } = agent.operations;
  if (chat) return { name: CHAT, operation: chat, input: { input: text } };
  const only = onlyOperation(agent);
  if (only?.textKey !== undefined) return { ...only, input: { [only.textKey]: text } };
  const object = parseObject(text);
  if (object === undefined) return undefined;
  const { operation: name, input } = object;
  const named =
    typeof name === "string" && Object.hasOwn(agent.operations, name) ? agent.operations[name] : undefined;
  if (named && typeof name === "string") return { name, operation: named, input: input ?? {} };
  return only && { ...only, input: object };
}

/** The operation of an agent that has only one, and the name of its input's only required property if that is a string. */
function onlyOperation({
  operations,
}: Agent): { readonly name: string; readonly operation: Operation; readonly textKey?: string } | undefined {
  const [entry, ...others] = Object.entries(operations);
  if (entry === undefined || others.length > 0) return undefined;
  const [name, operation] = entry;
  const textKey = onlyStringOf(toJsonSchema(operation.input, "input"));
  return { name, operation, ...(textKey !== undefined && { textKey }) };
}

/** The name of the only required property, if it is a string. */
function onlyStringOf(schema: JsonObject | undefined): string | undefined {
  const required = schema?.["required"];
  const properties = schema?.["properties"] as
    | { readonly [key: string]: { readonly type?: string } }
    | undefined;
  if (!Array.isArray(required) || required.length !== 1) return undefined;
  const key = String(required[0]);
  return properties?.[key]?.type === "string" ? key : undefined;
}

/**
 * Throws `not_found` unless an agent has an operation or a message with this name. Without this check, it would be found out
 * only when the request is sent: at a time, or when something is published.
 */
export function checkTold(agent: Agent, name: string): void {
  const operation = Object.hasOwn(agent.operations, name) ? agent.operations[name] : undefined;
  const isKnown = name === CHAT || operation !== undefined || isMessageName(agent, name);
  if (operation?.read === true && operation.logged !== true)
    throw new AgentError(
      "invalid_request",
      `operation ${name} of agent ${agent.name} only reads, so it cannot be told or scheduled: its answer would be lost`,
    );
  if (isKnown || agent.remote) return;
  const names = [...operationNames(agent), ...Object.keys(agent.messages ?? {})];
  throw new AgentError("not_found", `agent ${agent.name} has no operation or message ${name}`, {
    hint: `it has ${names.join(", ")}`,
  });
}
