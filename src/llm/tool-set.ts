import { AgentError } from "../errors.ts";
import type { Json } from "../protocol/json.ts";
import { CHAT } from "../runtime/agent/agent.ts";
import type { Agent, Operation, Schema, Tool, ToolSource } from "../runtime/agent/agent.ts";
import { remoteOperation, operationNames } from "../runtime/agent/resolve-operation.ts";
import { callName } from "../runtime/actor/call.ts";
import { checkAgent } from "../runtime/agent/definition/check-definition.ts";
import { chatInput } from "../runtime/agent/definition/definition.ts";
import { toJsonSchema } from "../runtime/agent/definition/schema.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import { fromAiSdkTool } from "./ai-sdk/tool.ts";
import type { AiSdkTool } from "./ai-sdk/tool.ts";
import type { MessageFile, ToolDescription } from "../runtime/model/prompt.ts";
import type { ApprovalRules, ToolApproval } from "./approval.ts";
import { imagesAmong } from "./prompt/files.ts";
import { rawSchema } from "./prompt/raw-schema.ts";

/**
 * Tools as a list, or by name, which may include tools of the AI SDK. What `mcpTools` returns stands for all tools of its
 * server.
 */
export type Tools =
  | readonly (Tool | ToolSource)[]
  | { readonly [name: string]: Tool | AiSdkTool | ToolSource }
  | ToolSource;

/** Everything a model can call. */
export interface ToolSet {
  /** The descriptions for the model. Operations of remote agents and tools of sources can change between completions. */
  descriptions(turn: Turn): Promise<readonly ToolDescription[]>;
  find(name: string): Callable | undefined;
  /** Whether a name is that of a tool or an agent of the definition, so that nothing else can have it. */
  owns(name: string): boolean;
}

/** A tool or an operation of an agent that a model can call. */
export interface Callable {
  readonly description: ToolDescription;
  readonly input: Schema<unknown>;
  /** Whether a human must approve a call; absent if none needs that. */
  readonly approve: ToolApproval | undefined;
  /** Makes the call. */
  call(turn: Turn, input: Json): Promise<CallableResult>;
}

/** The result of a call for the model: its text, and images that the model sees. */
export interface CallableResult {
  readonly text: string;
  /** Whether the text says why the call has failed. */
  readonly isError?: boolean;
  readonly images: readonly MessageFile[];
}

export interface ToolSetOptions {
  readonly tools: readonly Tool[];
  readonly sources: readonly ToolSource[];
  readonly agents: readonly Agent[];
  /** The rules for approvals by the model-visible names of calls. */
  readonly approve: ApprovalRules;
  /** Whether a rule may name a tool that is not there, because another turn has it. */
  readonly isPart?: boolean;
}

/** Tools as a list, where others come from, and the names of those that need approval by themselves. */
export interface NamedTools {
  readonly tools: readonly Tool[];
  readonly sources: readonly ToolSource[];
  readonly approve: readonly string[];
}

/**
 * Collects everything that a model can call. Throws if two things have the same name, or one cannot be
 * described.
 */
export function toToolSet({ tools, sources, agents, approve, isPart = false }: ToolSetOptions): ToolSet {
  const all = [...tools, ...agents];
  const twin = all.find((agent, index) => all.findIndex(({ name }) => name === agent.name) < index);
  if (twin) throw new AgentError("invalid_request", `two tools have the name ${twin.name}`);
  const near = new Map<string, Callable>();
  const far = agents.filter(({ remote }) => remote !== undefined);
  const owners = new Map<string, string>();
  for (const agent of all.filter(({ remote }) => remote === undefined)) {
    for (const [operationName, operation] of Object.entries(agent.operations)) {
      const callable = toCallable(agent, operationName, operation, approve);
      const { name } = callable.description;
      const owner =
        agent.kind === "tool" ? `tool ${agent.name}` : `operation ${operationName} of agent ${agent.name}`;
      const remote = far.find((agent) => belongsTo(agent, name));
      const other = remote ? `remote agent ${remote.name}` : owners.get(name);
      if (other !== undefined) {
        throw new AgentError(
          "invalid_request",
          `${other} and ${owner} have the same name for a model: ${name}`,
        );
      }
      owners.set(name, owner);
      near.set(name, callable);
    }
  }
  const set: ToolSet = {
    async descriptions(turn) {
      const all = new Map(near);
      const add = (callable: Callable): void => {
        // Of two tools with one name the first one counts.
        if (!all.has(callable.description.name)) all.set(callable.description.name, callable);
      };
      for (const agent of far) for (const name of operationNames(agent)) add(toFar(agent, name, approve));
      const lists = await Promise.all(sources.map((source) => source.toolsFor(turn)));
      for (const tool of lists.flat()) add(toTool(tool, approve));
      return Array.from(all.values(), ({ description }) => description);
    },
    find(name) {
      const agent = far.find((agent) => belongsTo(agent, name));
      if (agent === undefined) return near.get(name) ?? findIn(sources, name, approve);
      // It need not be known now: a continued turn must find the operation that it used before.
      const operationName = name === agent.name ? CHAT : name.slice(agent.name.length + SEPARATOR.length);
      return toFar(agent, operationName, approve);
    },
    owns: (name) => near.has(name) || far.some((agent) => belongsTo(agent, name)),
  };
  // A tool of a source may come later.
  const unknown = [...approve.keys()].find((name) => set.find(name) === undefined);
  if (unknown === undefined || isPart) return set;
  throw new AgentError("invalid_request", `approve names ${unknown}, but there is no such tool`, {
    hint: `the tools: ${[...near.keys()].join(", ")}`,
  });
}

/** The tools of a list or record, where others come from, and the names of those that need approval. */
export function toTools(tools: Tools, agentName: string): NamedTools {
  if (isToolSource(tools)) return { tools: [], sources: [tools], approve: [] };
  const given = Object.values(tools) as readonly (Tool | AiSdkTool | ToolSource)[];
  const sources = given.filter(isToolSource);
  if (Array.isArray(tools)) {
    const own = given.filter((tool) => !isToolSource(tool));
    for (const tool of own) checkAgent(tool, `tools[${given.indexOf(tool)}] of agent ${agentName}`);
    return { tools: own as readonly Tool[], sources, approve: [] };
  }
  const entries = Object.entries(tools as { readonly [name: string]: Tool | AiSdkTool | ToolSource });
  const named = entries.flatMap(([name, tool]) =>
    isToolSource(tool) ? [] : [{ tool: toNamed(name, tool), asks: asksForApproval(tool) }],
  );
  return {
    tools: named.map(({ tool }) => tool),
    sources,
    approve: named.filter(({ asks }) => asks).map(({ tool }) => tool.name),
  };
}

/** Whether a value is what `mcpTools` returns. */
function isToolSource(value: unknown): value is ToolSource {
  return (
    typeof value === "object" && value !== null && "toolsFor" in value && typeof value.toolsFor === "function"
  );
}

function toNamed(name: string, tool: Tool | AiSdkTool): Tool {
  if (!isTool(tool)) return fromAiSdkTool(name, tool);
  if (tool.name === name) return tool;
  throw new AgentError(
    "invalid_request",
    `tool ${tool.name} is listed under the name ${name}; use its own name`,
  );
}

/** A tool of the AI SDK can decide by its input whether it needs approval; here it always does. */
function asksForApproval(tool: Tool | AiSdkTool): boolean {
  return !isTool(tool) && tool.needsApproval !== undefined && tool.needsApproval !== false;
}

function isTool(tool: Tool | AiSdkTool): tool is Tool {
  return typeof tool === "object" && "kind" in tool && tool.kind === "tool";
}

/**
 * A tool of the sources. It need not be known now: a continued turn must find the tool that it used before, and a model that
 * made a name up reads that there is no such tool.
 */
function findIn(sources: readonly ToolSource[], name: string, approve: ApprovalRules): Callable | undefined {
  const source = sources.find(({ tools }) => tools.some((tool) => tool.name === name)) ?? sources[0];
  return source && toTool(source.tool(name), approve);
}

function toTool(tool: Tool, approve: ApprovalRules): Callable {
  const [operation] = Object.values(tool.operations);
  return toCallable(tool, tool.name, operation as Operation, approve);
}

/** Replaces the dot in call names, which models do not accept. */
const SEPARATOR = "__";

/** Whether a model calls a remote agent, whose operations may not be known yet, by a name. */
function belongsTo(agent: Agent, name: string): boolean {
  return name === agent.name || name.startsWith(`${agent.name}${SEPARATOR}`);
}

function toFar(agent: Agent, operationName: string, approve: ApprovalRules): Callable {
  const operation = remoteOperation(agent, operationName);
  const known = toJsonSchema(operation.input, "input") !== undefined;
  const input = operationName === CHAT ? chatInput : rawSchema({ type: "object" });
  return toCallable(agent, operationName, known ? operation : { ...operation, input }, approve);
}

function toCallable(
  agent: Agent,
  operationName: string,
  { description, input }: Operation,
  approve: ApprovalRules,
): Callable {
  const name = callName(agent, operationName).replace(".", SEPARATOR);
  const schema = toJsonSchema(input, "input");
  if (schema === undefined) {
    throw new AgentError(
      "invalid_request",
      `the input of ${name} cannot be described to a model as JSON Schema`,
    );
  }
  const { $schema: _, ...inputSchema } = schema;
  return {
    description: { name, description: description === "" ? agent.purpose : description, input: inputSchema },
    input,
    approve: approve.get(name),
    async call(turn, input) {
      // The runtime may have bound another agent to the name.
      const called = turn.call(turn.uses[agent.name] ?? agent, operationName, input);
      const text = await called.text();
      // The files of other tools and agents are for the user; a model that takes no images would fail on them.
      return { text, images: agent.sources === undefined ? [] : imagesAmong(await called.files()) };
    },
  };
}
