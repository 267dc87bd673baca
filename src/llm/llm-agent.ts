import { AgentError } from "../errors.ts";
import * as z from "zod";
import type { LanguageModel, Model } from "../ports/model.ts";
import type { JsonObject } from "../protocol/json.ts";
import type {
  Agent,
  ChatInput,
  Collaborators,
  Operation,
  Schema,
  ChatOperations,
} from "../runtime/agent/agent.ts";
import type { Supervision } from "../runtime/agent/definition/supervision.ts";
import { checkCompletionOptions } from "../runtime/agent/call-options.ts";
import { markAgent, checkAgent } from "../runtime/agent/definition/check-definition.ts";
import { defineAgent } from "../runtime/agent/definition/define.ts";
import { chatInput, operation } from "../runtime/agent/definition/definition.ts";
import { toJsonSchema } from "../runtime/agent/definition/schema.ts";
import type { CompletionOptions, Turn } from "../runtime/agent/turn-api.ts";
import type { Instructions, ModelSettings } from "../runtime/model/prompt.ts";
import { toModel } from "../runtime/model/provider-model.ts";
import { aiSdkModel } from "./ai-sdk/model.ts";
import { converse, STEER } from "./converse.ts";
import type { LlmStep } from "./converse.ts";
import { checkGuards } from "./guards.ts";
import type { ModelGuard } from "./guards.ts";
import type { KitSource } from "./kit.ts";
import { toRules } from "./approval.ts";
import type { Approvals } from "./approval.ts";
import { withClientTools } from "./client-tools.ts";
import { toTools, toToolSet } from "./tool-set.ts";
import type { NamedTools, Tools, ToolSet } from "./tool-set.ts";

/** What `llmAgent` takes. */
export interface LlmAgentOptions<Config = JsonObject> extends Pick<
  CompletionOptions,
  "retry" | "fallback" | "firstTokenMs" | "idleMs"
> {
  /** Lower-case letters, digits and `-`, starting with a letter; at most 63 characters. */
  readonly name: string;
  /** One sentence for people and models. */
  readonly purpose: string;
  /** An interrupted turn continues only with the same version or a compatible one. */
  readonly version?: string;
  /** Other versions whose interrupted turns this one can continue. */
  readonly compatible?: readonly string[];
  /**
   * The model: a language model of an AI SDK provider as it is, its name at the AI SDK's gateway, or another one; or a
   * function that chooses it at the start of a turn. The choice is logged.
   */
  readonly model: ModelChoice | ((turn: Turn<Collaborators, Config>) => ModelChoice | Promise<ModelChoice>);
  /** The system prompt; a function gets the turn, for example to read its configuration. */
  readonly instructions: Instructions | ((turn: Turn<Collaborators, Config>) => Instructions);
  /** How the model answers, or a function that says it for each completion, for example to make it call a tool first. */
  readonly settings?: ModelSettings | ((step: LlmStep<Config>) => ModelSettings);
  /**
   * Tools of the model: a list of our tools, or by name, which may include tools of the AI SDK. The runtime
   * can bind another tool or agent to a tool's name, and to an agent's name below. A function chooses the tools at the
   * start of a turn, but no MCP servers; the choice is logged, and they cannot be bound.
   */
  readonly tools?: Tools | ((turn: Turn<Collaborators, Config>) => Tools | Promise<Tools>);
  /**
   * Other agents that the model can call: their chat by the agent's name, an operation as `name__operation`.
   */
  readonly agents?: readonly Agent[];
  /**
   * Tools that are called only after a human approves: their names, or by name a function of the arguments that returns
   * whether a human must approve the call, for example `{ pay: (args) => args.amount > 100 }`.
   */
  readonly approve?: Approvals;
  /**
   * Whether the client of a request can bring tools that it runs itself: they stand beside the agent's own, and a call of one is a
   * question to the client, `waiting_for` with the kind `tool`, whose answer is the result. Default false.
   */
  readonly clientTools?: boolean;
  /**
   * Functions that judge what the model reads and says and the calls that it asks for, in this order: each may refuse, rewrite or
   * ask a person. A refused prompt or answer ends the turn with `model_refused`; of a refused call the model reads why.
   */
  readonly guards?: readonly ModelGuard[];
  /** Maximum completions per answer. Default 20; above that the turn ends with an error. */
  readonly maxSteps?: number;
  /** How many calls of one completion run at the same time; the others wait. Default 32. */
  readonly parallelCalls?: number;
  /**
   * How many tokens of the run's conversation are sent to the model in full, as the model counts them; a summary by the model
   * replaces older messages. Default 32,000. At most 256 KiB are kept.
   */
  readonly historyTokens?: number;
  /** What it does about failures of the tools and agents that its model calls; default: the model reads their errors. */
  readonly supervise?: Supervision;
  /** Whether agents of all owners ask and tell the same actors of it, as for `defineAgent`. Default false. */
  readonly shared?: boolean;
  /** The schema of its configuration; without one any configuration is accepted. */
  readonly config?: Schema<Config>;
  /**
   * With `run`, it uses the run's conversation also when another agent calls it; default `own`, which starts
   * empty.
   */
  readonly memory?: "own" | "run";
}

/** A model as `llmAgent` takes it. */
export type ModelChoice = Model | LanguageModel | string;

/** The messages of an agent that is made from a model. */
export type LlmMessages = {
  /** A hint for the model while it works. */
  readonly steer: Schema<string>;
};

/** The operations of an agent with structured output. */
export type StructuredOperations<Output> = ChatOperations & {
  /** Answers a text with a value. */
  readonly answer: Operation<ChatInput, Output>;
};

/**
 * Defines an agent that is a language model: it answers a chat by asking the model and makes the calls that
 * the model asks for, until there are none. Each completion and each call is in the log, so that an
 * interrupted turn continues where it stopped.
 *
 * A message `steer` is a hint for the model: it is read before the next completion, and a hint that comes during the last
 * one makes the model answer again. Running tools are not stopped.
 *
 * With an `output` schema it answers in JSON that fits, and has an operation `answer` in addition to `chat`.
 */
export function llmAgent<Output, Config = JsonObject>(
  options: LlmAgentOptions<Config> & { readonly output: Schema<Output> },
): Agent<StructuredOperations<Output>, LlmMessages>;
export function llmAgent<Config = JsonObject>(
  options: LlmAgentOptions<Config>,
): Agent<ChatOperations, LlmMessages>;
export function llmAgent(
  options: LlmAgentOptions & { readonly output?: Schema<unknown> },
): Agent<ChatOperations, LlmMessages> {
  const { instructions, agents = [], guards = [], maxSteps = 20, output } = options;
  const { parallelCalls = 32, historyTokens = 32_000 } = options;
  const { name, purpose, version, compatible, config, memory, supervise, shared } = options;
  const { retry, fallback, firstTokenMs, idleMs, clientTools = false } = options;
  if (!(maxSteps >= 1)) throw new AgentError("invalid_request", `agent ${name}: maxSteps must be at least 1`);
  if (!(Number.isInteger(parallelCalls) && parallelCalls >= 1))
    throw new AgentError("invalid_request", `agent ${name}: parallelCalls must be a whole number, 1 or more`);
  if (!(historyTokens >= 1))
    throw new AgentError("invalid_request", `agent ${name}: historyTokens must be at least 1`);
  const asModel = (given: ModelChoice): Model =>
    typeof given === "string" ? named(given) : toModel(given, `agent ${name}`);
  const { model, tools = [] } = options;
  if (
    typeof instructions !== "string" &&
    typeof instructions !== "function" &&
    !Array.isArray(instructions)
  ) {
    throw new AgentError(
      "invalid_request",
      `the instructions of agent ${name} are neither a text nor a function`,
    );
  }
  for (const [index, agent] of agents.entries()) checkAgent(agent, `agents[${index}] of agent ${name}`);
  const isPart = typeof tools === "function";
  const own = isPart ? NO_TOOLS : toTools(tools, name);
  const toSet = (given: NamedTools): ToolSet => {
    const approve = toRules(given.approve, options.approve ?? [], name);
    return toToolSet({ ...given, agents, approve, isPart: isPart || clientTools });
  };
  const fixed = toSet(own);
  const rules = toRules([], options.approve ?? [], name);
  const withClient = (set: ToolSet, turn: Turn): ToolSet =>
    clientTools ? withClientTools(set, turn.request.tools ?? [], rules) : set;
  const kit: KitSource = {
    model: typeof model === "function" ? async (turn) => asModel(await model(turn)) : asModel(model),
    tools: isPart ? async (turn) => toChosenTools(await tools(turn), name) : own,
    toToolSet: (given, turn) => withClient(given === own ? fixed : toSet(given), turn),
  };
  checkCompletionOptions(options, `agent ${name}`);
  checkGuards(guards, name);
  const settings = {
    name,
    completion: {
      ...(retry && { retry }),
      ...(fallback && { fallback }),
      ...(firstTokenMs !== undefined && { firstTokenMs }),
      ...(idleMs !== undefined && { idleMs }),
    },
    kit,
    instructions,
    ...(options.settings && { settings: options.settings }),
    guards,
    maxSteps,
    parallelCalls,
    historyTokens,
    ...(output && { output, outputSchema: toJsonSchema(output, "input") ?? ANYTHING }),
  };
  const agent = defineAgent({
    name,
    purpose,
    ...(version !== undefined && { version }),
    ...(compatible && { compatible }),
    ...(config && { config }),
    ...(memory && { memory }),
    ...(supervise && { supervise }),
    ...(shared !== undefined && { shared }),
    messages: { [STEER]: z.string() },
    uses: Object.fromEntries([...own.tools, ...agents].map((agent) => [agent.name, agent])),
    async chat(input, turn) {
      const answer = await converse(settings, input, turn);
      // Streamed text is the answer; but with an output schema only the last attempt counts.
      return output && JSON.stringify(answer.value);
    },
    ...(output && {
      operations: {
        answer: operation({
          description: purpose,
          input: chatInput,
          output,
          run: async ({ input }, turn) => (await converse(settings, input, turn)).value,
        }),
      },
    }),
  });
  const { sources } = own;
  return markAgent({
    ...agent,
    ...(typeof kit.model !== "function" && { model: kit.model.name }),
    ...(sources.length > 0 && { sources }),
    ...(clientTools && { clientTools: { owns: (tool) => fixed.owns(tool) } }),
  });
}

const ANYTHING: JsonObject = {};

const NO_TOOLS: NamedTools = { tools: [], sources: [], approve: [] };

/** The tools that a function has chosen for a turn. */
function toChosenTools(given: Tools, name: string): NamedTools {
  const chosen = toTools(given, name);
  if (chosen.sources.length === 0) return chosen;
  throw new AgentError(
    "invalid_request",
    `the tools of agent ${name} are a function, which gave an MCP server`,
    {
      hint: "a server is opened with the runtime: give it in a list of tools; its headers may be functions of the turn",
    },
  );
}

/** A model at the gateway, one for each name, because the limits of a model belong to the object. */
function named(name: string): Model {
  const model = NAMED.get(name) ?? aiSdkModel(name);
  NAMED.set(name, model);
  return model;
}

const NAMED = new Map<string, Model>();
