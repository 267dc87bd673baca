import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { RemoteHandler } from "./remote-port.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Memory, ToolTurn, Turn } from "./turn-api.ts";

/**
 * A schema of any library that implements Standard Schema: it checks a `Given` value and makes a `Value` of it.
 * The two differ where the schema has defaults or transforms.
 */
export type Schema<Value, Given = unknown> = StandardSchemaV1<Given, Value>;

/**
 * Whether code that may already have run may run again after a crash. `idempotent` is retried with the
 * same call id; `unsafe` ends as a ToolError `interrupted` that the caller sees and decides on.
 */
export type Effect = "idempotent" | "unsafe";

/** One thing an agent can be asked for, with the types of its callers: what they give, and what they get. */
export interface Operation<Input = unknown, Output = unknown> {
  readonly description: string;
  readonly input: Schema<unknown, Input>;
  readonly output?: Schema<Output>;
  /** Takes what the input schema makes of the input, and returns what the output schema takes. */
  run(input: unknown, turn: Turn): unknown;
}

/** What `operation` takes: `Given` and `Output` are the types of its callers, `Input` and `Returned` those of `run`. */
export interface OperationOptions<Given, Input, Returned, Output, OwnTurn = Turn> {
  readonly description?: string;
  readonly input: Schema<Input, Given>;
  readonly output?: Schema<Output, Returned>;
  run(input: Input, turn: OwnTurn): Returned | Promise<Returned>;
}

/** Defines an operation whose handler gets a certain type of turn. */
export type DefineOperation<OwnTurn = Turn> = <Given, Input, Returned, Output = Returned>(
  options: OperationOptions<Given, Input, Returned, Output, OwnTurn>,
) => Operation<Given, NoInfer<Output>>;

/** The operations of an agent by name. */
export type Operations = { readonly [name: string]: Operation };

/** The operation that every agent can be asked for. */
export const CHAT = "chat";

/** What a chat handler gets, and the form of what its caller gets. */
export interface ChatInput {
  readonly input: string;
}

/** The answer of a chat. */
export interface ChatOutput {
  readonly output: string;
}

/** An agent's definition: what it is called, what it can be asked for, and how it answers. */
export interface Agent<Ops extends Operations = Operations> {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  /** Other versions whose interrupted turns this one can continue. */
  readonly compatible: readonly string[];
  readonly kind: "agent" | "tool";
  /** What a crash in the middle of a tool means; an agent goes on from its journal. */
  readonly effect: Effect;
  /** By name; `chat` is among them when the agent defines how it chats. */
  readonly operations: Ops;
  /** The agents it calls; shown in its description, and served nowhere unless also given to the runtime. */
  readonly tools: readonly Agent[];
  /** The agents it works with, by its own names for them. */
  readonly uses: Collaborators;
  readonly config?: Schema<unknown>;
  /** What a run starts with as its memory of this agent. */
  readonly memory: "own" | "run";
  readonly memorySchema?: Schema<unknown>;
  /** Set where the work is done elsewhere. */
  readonly remote?: RemoteHandler;
}

/** Agents by the names that another agent has for them. */
export type Collaborators = { readonly [name: string]: Agent };

/** What `defineAgent` takes. */
export interface AgentOptions<
  Ops extends Operations,
  Uses extends Collaborators = Collaborators,
  Config = JsonObject,
  Kept = Json,
  KeptGiven = Json,
> {
  /** Lower-case letters, digits and `-`, starting with a letter; at most 63. */
  readonly name: string;
  /** One sentence for people and models. */
  readonly purpose: string;
  /** A turn that was interrupted continues only under the same version, or one that says it is compatible. */
  readonly version?: string;
  /** Other versions whose interrupted turns this one can continue: it takes the same path through them. */
  readonly compatible?: readonly string[];
  /** Answers a chat: by `turn.text`, or by what it returns. */
  readonly chat?: (
    input: string,
    turn: Turn<Uses, Config, MemoryOf<Kept, KeptGiven>>,
  ) => ChatAnswer | Promise<ChatAnswer>;
  /**
   * What it can be asked for beside a chat, by name. A function is given its own `operation`, whose handlers get
   * a turn with the types of `uses`, `config` and `memorySchema`.
   */
  readonly operations?:
    | Ops
    | ((operation: DefineOperation<Turn<Uses, Config, MemoryOf<Kept, KeptGiven>>>) => Ops);
  /** The tools and agents that it calls. */
  readonly tools?: readonly Agent[];
  /**
   * The agents that it calls as `turn.uses.name`. They are what it works with unless the runtime is told
   * to `bind` another tool, agent or remote agent to a name. Its calls are named after these names.
   */
  readonly uses?: Uses;
  /**
   * Schema of its configuration; without one any object is taken. `turn.config` is what the schema makes of the
   * configuration, or of `{}` if there is none, and throws if that does not fit. It may not be asynchronous.
   */
  readonly config?: Schema<Config>;
  /** Schema of what `turn.memory` holds; with a default, `get` gives that at first. It may not be asynchronous. */
  readonly memorySchema?: Schema<Kept, KeptGiven>;
  /** `run` lets the agent share its memory of the run when it is called by another; default `own`, which starts empty. */
  readonly memory?: "own" | "run";
}

/** The memory that a schema describes: without a default there is nothing in it at first. */
export type MemoryOf<Kept, KeptGiven> = Memory<
  undefined extends KeptGiven ? Kept : Kept | undefined,
  Exclude<KeptGiven, undefined>
>;

/** What a chat handler may return: its answer, or nothing when its texts are the answer. */
// oxlint-disable-next-line typescript/no-invalid-void-type -- a handler without a return statement is the usual one
export type ChatAnswer = string | undefined | void;

/** What `defineTool` takes. */
export interface ToolOptions<Given, Input, Returned, Output> extends OperationOptions<
  Given,
  Input,
  Returned,
  Output,
  ToolTurn
> {
  readonly name: string;
  readonly description: string;
  /** Default `unsafe`: after a crash in mid-call the caller gets a ToolError instead of a second call. */
  readonly effect?: Effect;
}

/** A tool: an agent with one operation, named like the tool. */
export type Tool<Input = unknown, Output = unknown> = Agent<{
  readonly [name: string]: Operation<Input, Output>;
}>;
