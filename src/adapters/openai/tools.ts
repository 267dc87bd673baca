import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessageFunctionToolCall,
} from "openai/resources/chat/completions";
import type { FunctionTool } from "openai/resources/responses/responses";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { WaitView } from "../../view/run-view.ts";
import type { GivenAnswer } from "../../view/wait-answers.ts";
import { readSaid } from "./content.ts";
import type { ModelRef } from "./models.ts";
import { parseAnswerId, toItemId } from "./place.ts";

/** An answer to a question, and the request that asks it, if the answer names it. */
export interface ItemAnswer {
  readonly given: GivenAnswer;
  readonly requestId?: RequestId | undefined;
}

/** The tools that the client of a request runs, and the others, which the agent gets as a parameter. */
export interface GivenTools {
  readonly tools?: readonly ClientTool[];
  readonly others: JsonObject;
}

/** Reads the tools of a request. An agent that takes no tools of its clients gets all of them as a parameter. */
export function readTools(
  runtime: Runtime,
  { agent }: ModelRef,
  { tools: given, ...others }: JsonObject,
): GivenTools {
  const isOff = others["tool_choice"] === "none" || runtime.describe(agent).client_tools !== true;
  if (!Array.isArray(given) || isOff)
    return { others: { ...others, ...(given !== undefined && { tools: given }) } };
  const functions = given.map((tool) => (isObject(tool) && tool["type"] === "function" ? tool : undefined));
  const rest = given.filter((_, index) => functions[index] === undefined);
  const tools = functions.flatMap((tool, index) => (tool ? toClientTool(tool, `tools.${index}`) : []));
  return {
    others: { ...others, ...(rest.length > 0 && { tools: rest }) },
    ...(tools.length > 0 && { tools }),
  };
}

/** The tools of Chat Completions have their fields one object deeper than those of Responses. */
function toClientTool(
  tool: Partial<ChatCompletionFunctionTool> | Partial<FunctionTool>,
  path: string,
): ClientTool {
  const own: unknown = "function" in tool ? tool.function : tool;
  const { name, description, parameters }: Fields = isObject(own) ? own : {};
  if (typeof name !== "string") throw wrongField(`${path}.name`, "must be a string");
  if (parameters !== undefined && parameters !== null && !isObject(parameters))
    throw wrongField(`${path}.parameters`, "must be a JSON schema");
  return {
    name,
    ...(typeof description === "string" && { description }),
    ...(isObject(parameters) && { input_schema: parameters as JsonObject }),
  };
}

/** The call of a tool that the client runs. */
export function toToolCall(
  { requestId, waitId }: WaitView,
  { name, args }: NonNullable<WaitView["tool"]>,
): ChatCompletionMessageFunctionToolCall {
  const id = toItemId("call", requestId, waitId);
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

/** The results of tools at the end of a conversation; empty if something else ends it. */
export function readResults(messages: readonly Fields[]): readonly ItemAnswer[] {
  const first = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  return messages.slice(first).map(({ content, tool_call_id: id }, index): ItemAnswer => {
    const path = `messages.${first + index}`;
    const { requestId, began: waitId } = (typeof id === "string" ? parseAnswerId(id) : undefined) ?? {};
    if (waitId === undefined)
      throw wrongField(`${path}.tool_call_id`, "must be that of a call of this server");
    const { text } = readSaid(content, `${path}.content`);
    return { requestId, given: { type: "result", waitId, result: text } };
  });
}
