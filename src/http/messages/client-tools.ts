import { isObject } from "../../protocol/json.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import { wrongField } from "./wrong-field.ts";

/** The tools that the client of a request runs, and what is left of its parameters, which the agent gets. */
export interface GivenTools {
  readonly tools?: readonly ClientTool[];
  readonly others: JsonObject;
}

/**
 * Reads the functions among the `tools` of a request, as several wires describe them. An agent that takes no
 * tools of its clients gets all of them as a parameter.
 */
export function readTools(
  runtime: Runtime,
  agent: string,
  { tools: given, ...others }: JsonObject,
): GivenTools {
  const isOff = others["tool_choice"] === "none" || runtime.describe(agent).client_tools !== true;
  if (!Array.isArray(given) || isOff)
    return { others: { ...others, ...(given !== undefined && { tools: given }) } };
  const rest = given.filter((tool) => !isFunction(tool));
  const tools = given.flatMap((tool, index) =>
    isFunction(tool) ? toClientTool(tool, `tools.${index}`) : [],
  );
  return {
    others: { ...others, ...(rest.length > 0 && { tools: rest }) },
    ...(tools.length > 0 && { tools }),
  };
}

function isFunction(tool: unknown): tool is Fields {
  return isObject(tool) && (tool["type"] ?? "function") === "function";
}

/** Some wires have the fields of a function beside its type, others one object deeper. */
function toClientTool(tool: Fields, path: string): ClientTool {
  const { name, description, parameters } = isObject(tool["function"]) ? tool["function"] : tool;
  if (typeof name !== "string") throw wrongField(`${path}.name`, "must be a string");
  if (parameters !== undefined && parameters !== null && !isObject(parameters))
    throw wrongField(`${path}.parameters`, "must be a JSON schema");
  return {
    name,
    ...(typeof description === "string" && { description }),
    ...(isObject(parameters) && { input_schema: parameters as JsonObject }),
  };
}
