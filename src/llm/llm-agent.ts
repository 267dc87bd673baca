import { AgentError } from "../errors.ts";
import type { Model } from "../ports/model.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent, ChatInput, Operation, Schema } from "../runtime/agent/agent.ts";
import { chatInput, defineAgent, operation } from "../runtime/agent/define.ts";
import type { ChatOperations } from "../runtime/agent/define.ts";
import { toJsonSchema } from "../runtime/agent/schema.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import { HISTORY_LIMIT_BYTES } from "./prompt/conversation.ts";
import { converse } from "./converse.ts";
import { toTools, toToolSet } from "./tool-set.ts";
import type { Tools } from "./tool-set.ts";

/** What `llmAgent` takes. */
export interface LlmAgentOptions {
  /** Lower-case letters, digits and `-`, starting with a letter; at most 63. */
  readonly name: string;
  /** One sentence for people and models. */
  readonly purpose: string;
  /** A turn that was interrupted continues only under the same version, or one that says it is compatible. */
  readonly version?: string;
  /** Other versions whose interrupted turns this one can continue. */
  readonly compatible?: readonly string[];
  readonly model: Model;
  /** What the model is told before the conversation; a function is given the turn, for its configuration. */
  readonly instructions: string | ((turn: Turn) => string);
  /**
   * What the model may call: tools of ours in a list, or by name together with tools of the AI SDK. The
   * runtime can be told to bind another tool or agent to a tool's name, and also to an agent's below.
   */
  readonly tools?: Tools;
  /** Other agents that the model may call: by chat under their name, by an operation as `name__operation`. */
  readonly agents?: readonly Agent[];
  /** Tools, by the names that the model uses, that are called only after a human has agreed. */
  readonly approve?: readonly string[];
  /** How many completions one answer may take. Default 20; beyond, the turn ends with an error. */
  readonly maxSteps?: number;
  /**
   * How much of the run's conversation goes to the model word by word, in bytes; what is older is
   * replaced by a summary that the model makes. Default 128 KiB, at most 256 KiB.
   */
  readonly historyBytes?: number;
  /** Schema of its configuration; without one anything is taken. */
  readonly config?: Schema<unknown>;
  /** `run` lets it go on with the run's conversation also when another agent calls it; default `own`, which starts empty. */
  readonly memory?: "own" | "run";
}

/** The operations of an agent with structured output. */
export type StructuredOperations<Output> = ChatOperations & {
  /** Answers a text with a value. */
  readonly answer: Operation<ChatInput, Output>;
};

/**
 * Defines an agent that a language model speaks for: it answers a chat by asking the model, makes the
 * calls that the model asks for, and goes on until the model has nothing to call. Each completion and
 * each call is in the log, so that a turn that was interrupted goes on where it was.
 *
 * With a schema for its `output` it answers in JSON that fits, and has an operation `answer` beside `chat`.
 */
export function llmAgent<Output>(
  options: LlmAgentOptions & { readonly output: Schema<Output> },
): Agent<StructuredOperations<Output>>;
export function llmAgent(options: LlmAgentOptions): Agent<ChatOperations>;
export function llmAgent(
  options: LlmAgentOptions & { readonly output?: Schema<unknown> },
): Agent<ChatOperations> {
  const { model, instructions, agents = [], maxSteps = 20, historyBytes = 128 * 1024, output } = options;
  const { name, purpose, version, compatible, config, memory } = options;
  if (!(maxSteps >= 1)) throw new AgentError("invalid_request", `agent ${name}: maxSteps is at least 1`);
  if (!(historyBytes > 0 && historyBytes <= HISTORY_LIMIT_BYTES)) {
    throw new AgentError("invalid_request", `agent ${name}: historyBytes is at most ${HISTORY_LIMIT_BYTES}`);
  }
  const { tools, approve } = toTools(options.tools ?? []);
  const toolSet = toToolSet({ tools, agents, approve: [...approve, ...(options.approve ?? [])] });
  const settings = {
    name,
    model,
    instructions,
    tools: toolSet,
    maxSteps,
    historyBytes,
    ...(output && { output, outputSchema: toJsonSchema(output, "input") ?? ANYTHING }),
  };
  return defineAgent({
    name,
    purpose,
    ...(version !== undefined && { version }),
    ...(compatible && { compatible }),
    ...(config && { config }),
    ...(memory && { memory }),
    uses: Object.fromEntries([...tools, ...agents].map((agent) => [agent.name, agent])),
    async chat(input, turn) {
      const answer = await converse(settings, input, turn);
      // Texts speak for themselves, but of several attempts at a value only the last one counts.
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
}

const ANYTHING: JsonObject = {};
