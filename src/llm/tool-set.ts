import { AgentError } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { CHAT } from "../runtime/actor.ts";
import type { Agent, Operation, Schema, Tool } from "../runtime/agent.ts";
import { callName } from "../runtime/call.ts";
import { toJsonSchema } from "../runtime/schema.ts";
import type { Turn } from "../runtime/turn-api.ts";
import { fromAiSdkTool } from "./ai-sdk-tool.ts";
import type { AiSdkTool } from "./ai-sdk-tool.ts";
import type { ToolDescription } from "./prompt.ts";

/** Tools in a list, or by name, where tools of the AI SDK may be among them. */
export type Tools = readonly Tool[] | { readonly [name: string]: Tool | AiSdkTool };

/** What a model may call, by the name that the model uses. */
export type ToolSet = ReadonlyMap<string, Callable>;

/** A tool, or an operation of an agent, that a model may call. */
export interface Callable {
  readonly description: ToolDescription;
  readonly input: Schema<unknown>;
  /** Whether a human has to agree to each call. */
  readonly approve: boolean;
  call(turn: Turn, input: Json): Promise<Json>;
}

/** What a model is given to call. */
export interface ToolSetOptions {
  readonly tools: readonly Tool[];
  readonly agents: readonly Agent[];
  /** Names, as the model uses them, of what a human has to agree to. */
  readonly approve: readonly string[];
}

/** Gathers everything that a model may call; throws when two things have one name, or one cannot be described. */
export function toToolSet({ tools, agents, approve }: ToolSetOptions): ToolSet {
  const set = new Map<string, Callable>();
  for (const agent of [...tools, ...agents]) {
    for (const [operationName, operation] of Object.entries(agent.operations)) {
      const name = callName(agent, operationName).replace(".", "__");
      if (set.has(name)) throw new AgentError("invalid_request", `two tools have the name ${name}`);
      set.set(name, toCallable(name, agent, operationName, operation, approve.includes(name)));
    }
  }
  const unknown = approve.find((name) => !set.has(name));
  if (unknown === undefined) return set;
  throw new AgentError("invalid_request", `there is no tool ${unknown} to approve`, {
    hint: `the tools: ${[...set.keys()].join(", ")}`,
  });
}

/** The tools of a list or record, and the names of those that ask to be approved. */
export function toTools(tools: Tools): {
  readonly tools: readonly Tool[];
  readonly approve: readonly string[];
} {
  if (Array.isArray(tools)) return { tools: tools as readonly Tool[], approve: [] };
  const entries = Object.entries(tools as { readonly [name: string]: Tool | AiSdkTool });
  const named = entries.map(([name, tool]) => ({ tool: toTool(name, tool), asks: asksForApproval(tool) }));
  return {
    tools: named.map(({ tool }) => tool),
    approve: named.filter(({ asks }) => asks).map(({ tool }) => tool.name),
  };
}

function toTool(name: string, tool: Tool | AiSdkTool): Tool {
  if (!isTool(tool)) return fromAiSdkTool(name, tool);
  if (tool.name === name) return tool;
  throw new AgentError("invalid_request", `tool ${tool.name} stands under the name ${name}: use its own`);
}

/** A tool of the AI SDK may decide by its input whether to ask; here it then always asks. */
function asksForApproval(tool: Tool | AiSdkTool): boolean {
  return !isTool(tool) && tool.needsApproval !== undefined && tool.needsApproval !== false;
}

function isTool(tool: Tool | AiSdkTool): tool is Tool {
  return "kind" in tool && tool.kind === "tool";
}

function toCallable(
  name: string,
  agent: Agent,
  operationName: string,
  operation: Operation,
  approve: boolean,
): Callable {
  const { description, input } = operation;
  const schema = toJsonSchema(input, "input");
  if (schema === undefined) {
    throw new AgentError("invalid_request", `the input of ${name} cannot be told to a model as JSON Schema`);
  }
  const { $schema: _, ...inputSchema } = schema;
  return {
    description: { name, description: description === "" ? agent.purpose : description, input: inputSchema },
    input,
    approve,
    async call(turn, input) {
      const value = (await turn.call(agent, operationName, input)) as Json;
      return operationName === CHAT ? ((value as JsonObject)["output"] ?? null) : value;
    },
  };
}
