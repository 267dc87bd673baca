import { AgentError } from "../errors.ts";
import type { Json } from "../protocol/json.ts";
import { CHAT } from "../runtime/agent/agent.ts";
import type { Agent, Operation, Schema, Tool } from "../runtime/agent/agent.ts";
import { remoteOperation, operationNames } from "../runtime/agent/resolve-operation.ts";
import { callName } from "../runtime/actor/call.ts";
import { chatInput } from "../runtime/agent/define.ts";
import { toJsonSchema } from "../runtime/agent/schema.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import { fromAiSdkTool } from "./ai-sdk/tool.ts";
import type { AiSdkTool } from "./ai-sdk/tool.ts";
import type { ToolDescription } from "./prompt/prompt.ts";
import { rawSchema } from "./prompt/raw-schema.ts";

/** Tools in a list, or by name, where tools of the AI SDK may be among them. */
export type Tools = readonly Tool[] | { readonly [name: string]: Tool | AiSdkTool };

/** What a model may call. */
export interface ToolSet {
  /** As the model is told of it. What agents elsewhere can do may change from one completion to the next. */
  readonly descriptions: readonly ToolDescription[];
  find(name: string): Callable | undefined;
}

/** A tool, or an operation of an agent, that a model may call. */
export interface Callable {
  readonly description: ToolDescription;
  readonly input: Schema<unknown>;
  /** Whether a human has to agree to each call. */
  readonly approve: boolean;
  /** Makes the call; the answer is what the model is to read. */
  call(turn: Turn, input: Json): Promise<string>;
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
  const all = [...tools, ...agents];
  const twin = all.find((agent, index) => all.findIndex(({ name }) => name === agent.name) < index);
  if (twin) throw new AgentError("invalid_request", `two tools have the name ${twin.name}`);
  const near = new Map<string, Callable>();
  const far = agents.filter(({ remote }) => remote !== undefined);
  for (const agent of all.filter(({ remote }) => remote === undefined)) {
    for (const [operationName, operation] of Object.entries(agent.operations)) {
      const callable = toCallable(agent, operationName, operation, approve);
      near.set(callable.description.name, callable);
    }
  }
  const set: ToolSet = {
    get descriptions() {
      const farNames = far.flatMap((agent) =>
        operationNames(agent).map((name) => toFar(agent, name, approve)),
      );
      return [...near.values(), ...farNames].map(({ description }) => description);
    },
    find(name) {
      const agent = far.find((agent) => name === agent.name || name.startsWith(`${agent.name}${SEPARATOR}`));
      if (agent === undefined) return near.get(name);
      // Whether it is known does not matter: a turn that is continued has to find again what it found before.
      const operationName = name === agent.name ? CHAT : name.slice(agent.name.length + SEPARATOR.length);
      return toFar(agent, operationName, approve);
    },
  };
  const unknown = approve.find((name) => set.find(name) === undefined);
  if (unknown === undefined) return set;
  throw new AgentError("invalid_request", `there is no tool ${unknown} to approve`, {
    hint: `the tools: ${[...near.keys()].join(", ")}`,
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

/** What the dot in the name of a call is to a model. */
const SEPARATOR = "__";

function toFar(agent: Agent, operationName: string, approve: readonly string[]): Callable {
  const operation = remoteOperation(agent, operationName);
  const known = toJsonSchema(operation.input, "input") !== undefined;
  const input = operationName === CHAT ? chatInput : rawSchema({ type: "object" });
  return toCallable(agent, operationName, known ? operation : { ...operation, input }, approve);
}

function toCallable(
  agent: Agent,
  operationName: string,
  { description, input }: Operation,
  approve: readonly string[],
): Callable {
  const name = callName(agent, operationName).replace(".", SEPARATOR);
  const schema = toJsonSchema(input, "input");
  if (schema === undefined) {
    throw new AgentError("invalid_request", `the input of ${name} cannot be told to a model as JSON Schema`);
  }
  const { $schema: _, ...inputSchema } = schema;
  return {
    description: { name, description: description === "" ? agent.purpose : description, input: inputSchema },
    input,
    approve: approve.includes(name),
    // The runtime may have been told to put another in its place.
    call: (turn, input) => turn.call(turn.uses[agent.name] ?? agent, operationName, input).text(),
  };
}
