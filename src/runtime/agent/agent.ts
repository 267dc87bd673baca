import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { AgentMachine } from "./machine-port.ts";
import type { Environment } from "../../ports/environment.ts";
import type { QueueOptions } from "../../ports/model.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { ReadinessProbe } from "../../ports/readiness.ts";
import type { RemoteHandler } from "./remote-port.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { CallOptions } from "./call-options.ts";
import type { MailboxOptions } from "./definition/mailbox.ts";
import type { Supervision } from "./definition/supervision.ts";
import type { Schedule, ScheduledOperations } from "./definition/schedule.ts";
import type { Memory, ReadTurn, ToolTurn, Turn } from "./turn-api.ts";

/**
 * A schema of any library that implements Standard Schema. It validates a `Given` value and converts it to a
 * `Value`; the types differ if the schema has defaults or transforms.
 */
export type Schema<Value, Given = unknown> = StandardSchemaV1<Given, Value>;

/**
 * Whether code may run again when a crash leaves its outcome unknown. `idempotent` code is retried with the
 * same call id. `unsafe` code is not retried; its caller gets a ToolError `interrupted` and decides.
 */
export type Effect = "idempotent" | "unsafe";

/** An operation of an agent, with the types of its callers: their input and the output they get. */
export interface Operation<Input = unknown, Output = unknown> {
  readonly description: string;
  readonly input: Schema<unknown, Input>;
  readonly output?: Schema<Output>;
  /** Whether it only reads: it runs beside the turns of its run, on what they have committed. */
  readonly read?: boolean;
  /** Whether the request of an operation that only reads is in the log, with its end. Default: it is not. */
  readonly logged?: boolean;
  /** Of the requests that wait for an actor, those with a higher priority come first. Default 0. */
  readonly priority?: number;
  /** Gets the parsed input, and returns a value for the output schema. */
  run(input: unknown, turn: Turn): unknown;
}

/**
 * Options of `operation`. `Given` and `Output` are the types of its callers, `Input` and `Returned` those of
 * `run`.
 */
export interface OperationOptions<Given, Input, Returned, Output, OwnTurn = Turn> {
  readonly description?: string;
  readonly input: Schema<Input, Given>;
  readonly output?: Schema<Output, Returned>;
  /** Of the requests that wait for an actor, those with a higher priority come first. Default 0. */
  readonly priority?: number;
  run(input: Input, turn: OwnTurn): Returned | Promise<Returned>;
}

/** Options of an `operation` that only reads. */
export interface ReadOperation<Given, Input, Returned, Output, OwnTurn = Turn> extends Omit<
  OperationOptions<Given, Input, Returned, Output>,
  "run" | "priority"
> {
  /**
   * It runs at once, beside an open turn and while its actor waits for a person or is held, on the memory that the turns before
   * have committed. It cannot write, call, wait or tell.
   */
  readonly read: true;
  /**
   * Writes the request and its end into the log of the actor, in one commit, beside an open turn: who has asked what, and
   * what the answer was. Default false: the log does not change.
   */
  readonly logged?: boolean;
  run(input: Input, turn: ReadTurn<OwnTurn>): Returned | Promise<Returned>;
}

/** Defines an operation whose handler gets a specific type of turn. */
export interface DefineOperation<OwnTurn = Turn> {
  <Given, Input, Returned, Output = Returned>(
    options: ReadOperation<Given, Input, Returned, Output, OwnTurn>,
  ): Operation<Given, NoInfer<Output>>;
  <Given, Input, Returned, Output = Returned>(
    options: OperationOptions<Given, Input, Returned, Output, OwnTurn> & { readonly read?: never },
  ): Operation<Given, NoInfer<Output>>;
}

/** The operations of an agent by name. */
export type Operations = { readonly [name: string]: Operation };

declare const NONE: unique symbol;

/**
 * The constraint of the operations that `defineAgent` infers. If there are none, it infers this type with its mark: a default
 * in its place would be taken before the operations of a function are inferred.
 */
export type DeclaredOperations = { readonly [name: string]: Operation & { readonly [NONE]?: never } };

/** The operations that an agent declares; none if they have the mark. */
export type OperationsOf<Ops extends DeclaredOperations> = typeof NONE extends keyof Ops[keyof Ops]
  ? Record<never, never>
  : Ops;

/** The messages that the runs of an agent accept: the schema of the body by name. */
export type Messages = { readonly [name: string]: Schema<unknown> };

/**
 * An operation without a handler, as of a machine or an endpoint: its input with fields, the types of its callers, and
 * what the schema makes of an input.
 */
export interface MachineOperation<Input = unknown, Output = unknown, Parsed = unknown> {
  readonly description?: string;
  /** Default: an object, whose fields are ignored. */
  readonly input?: Schema<Parsed, Input>;
  readonly output?: Schema<Output>;
  /** Of the requests that wait for an actor, those with a higher priority come first. Default 0. */
  readonly priority?: number;
}

/** The name of the operation that every agent has. */
export const CHAT = "chat";

/** The input of a chat handler and of its callers. */
export interface ChatInput {
  readonly input: string;
}

/** The output of a chat. */
export interface ChatOutput {
  readonly output: string;
}

/** Every agent has a chat; without a handler of its own, a chat is passed to the agent's operations. */
export type ChatOperations = {
  // A type, because an interface would accept other names besides this one.
  readonly chat: Operation<ChatInput, ChatOutput>;
};

/** The definition of an agent: its name, its operations and its handlers. */
export interface Agent<
  Ops extends Operations = Operations,
  Accepted extends Messages = Messages,
  Uses extends Collaborators = Collaborators,
> {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  /** The name of its model, if it is made from one. */
  readonly model?: string;
  /** Other versions whose interrupted turns this version can continue. */
  readonly compatible: readonly string[];
  readonly kind: "agent" | "tool";
  /** What a crash during a tool means; an agent continues from its journal. */
  readonly effect: Effect;
  /** By name; contains `chat` if the agent defines one. */
  readonly operations: Ops;
  /** The messages that its runs accept, by name; absent if there are none. */
  readonly messages?: Accepted;
  /** How its requests and messages wait; absent if as the runtime's limits say. */
  readonly mailbox?: MailboxOptions;
  /** What it does about failures of the agents that it calls, asks, tells or watches; absent if it gets their errors. */
  readonly supervise?: Supervision;
  /** How long its runs are kept after their last change, in milliseconds; absent if the runtime decides. */
  readonly expireMs?: number;
  /** Whether agents of all owners ask the same actors of it. */
  readonly shared?: boolean;
  /** When it is called by itself, by name; absent if it is never. */
  readonly schedules?: { readonly [name: string]: Schedule };
  /**
   * The agents it calls. They are shown in its description, but served only if they are also given to the
   * runtime.
   */
  readonly tools: readonly Agent[];
  /** The agents it uses, by its own names for them. */
  readonly uses: Uses;
  readonly config?: Schema<unknown>;
  /** The memory that a call of this agent starts with. */
  readonly memory: "own" | "run";
  readonly memorySchema?: Schema<unknown>;
  /** For a tool: the options of each call that does not give its own. */
  readonly callOptions?: CallOptions;
  /** For a tool: the limits of its calls over all runs of a process. */
  readonly queue?: QueueOptions;
  /** Present if the agent is a state machine. */
  readonly machine?: AgentMachine;
  /** Present if the agent is on another server. */
  readonly remote?: RemoteHandler;
  /** Says whether what it depends on is there; absent if it depends on nothing. */
  readonly readiness?: ReadinessProbe;
  /** Where tools of it come from that are known only while the process runs; absent if there are none. */
  readonly sources?: readonly ToolSource[];
  /** For a tool: the server that has it, by its name, where it is another one. */
  readonly server?: string;
  /** Present if its requests can bring tools that the client runs. */
  readonly clientTools?: ClientToolRule;
}

/** Which tools of clients an agent takes. */
export interface ClientToolRule {
  /** Whether the agent has a tool of this name, so that the client's must have another one. */
  owns(name: string): boolean;
}

/** Where tools come from that are known only while the process runs, for example a server of tools. */
export interface ToolSource {
  /** The tools that are known now. */
  readonly tools: readonly Tool[];
  /** A tool by its name; one that is not known now fails when it is called. */
  tool(name: string): Tool;
  /** Resolves with the tools for a turn, when they are known or cannot be fetched now. Never rejects. */
  toolsFor(turn: Turn): Promise<readonly Tool[]>;
  /** Connects it for a runtime, until the returned function has resolved. */
  open(host: ToolHost): () => Promise<void>;
  /** Says whether it is there. */
  readonly readiness: ReadinessProbe;
}

/** What a runtime gives the sources of its tools. */
export interface ToolHost {
  readonly environment: Environment;
  readonly secrets: SecretStore;
  /** Makes the state of a sign-in of an owner elsewhere, by which the page that the browser is led to finds its question. */
  newSignIn(owner: string): Promise<string>;
  /** Reports a fault to the operator. */
  report(what: string, error: unknown): void;
}

/** Agents by another agent's names for them. */
export type Collaborators = { readonly [name: string]: Agent };

/**
 * What an agent uses, as far as its type says it: if its tools use others, or are not known, further names are possible.
 */
export type UsedBeside<Uses extends Collaborators, Tools extends readonly Agent[]> = [
  UsedName<Tools[number]>,
] extends [never]
  ? Uses
  : Uses & Collaborators;

/** The names under which an agent uses others. */
type UsedName<Used extends Agent> = Used extends Agent ? keyof Used["uses"] : never;

/** What `defineAgent` takes. */
export interface AgentOptions<
  Ops extends Operations,
  Uses extends Collaborators = Collaborators,
  Config = JsonObject,
  Kept = Json,
  KeptGiven = Json,
  Accepted extends Messages = Messages,
  Tools extends readonly Agent[] = readonly Agent[],
> {
  /** Lower-case letters, digits and `-`, starting with a letter; at most 63 characters. */
  readonly name: string;
  /** One sentence for people and models. */
  readonly purpose: string;
  /** An interrupted turn continues only with the same version or a compatible one. */
  readonly version?: string;
  /**
   * Other versions whose interrupted turns this version can continue, because it takes the same path through
   * them.
   */
  readonly compatible?: readonly string[];
  /** Handles a chat: it answers with `turn.text`, or returns the answer. */
  readonly chat?: (
    input: string,
    turn: Turn<Uses, Config, MemoryOf<Kept, KeptGiven>, Accepted>,
  ) => ChatAnswer | Promise<ChatAnswer>;
  /**
   * Its operations besides chat, by name. A function gets an `operation` of its own, whose handlers get a
   * turn with the types of `uses`, `config` and `memorySchema`.
   */
  readonly operations?:
    | Ops
    | ((operation: DefineOperation<Turn<Uses, Config, MemoryOf<Kept, KeptGiven>, Accepted>>) => Ops);
  /**
   * The messages that its runs accept, by name, with the schema of the body. A message starts no turn: the running turn
   * reads it with `turn.receive` or `turn.received`, otherwise the next one. A message and an operation cannot have the
   * same name. The schemas must be synchronous.
   */
  readonly messages?: Accepted;
  /** How requests and messages wait for its actors: their order, how many, what happens to one too many. */
  readonly mailbox?: MailboxOptions;
  /**
   * What it does about failures of the agents that it calls, asks, tells or watches: it restarts them, then fails with them or
   * stops them. Of an actor that it watches all requests are supervised, otherwise those that it makes. Default: its code gets
   * their errors.
   */
  readonly supervise?: Supervision;
  /**
   * Times at which an operation is called, by name. The requests go to the run with the key `schedule-` and the name. A
   * new or changed schedule makes up for nothing; of the times that pass while no server runs, the newest one is made up.
   */
  readonly schedules?: ScheduledOperations;
  /**
   * Whether agents of all owners ask and tell the same actors of it, which belong to no principal but to the owner `shared`. What these
   * do in turn belongs to it, too. Clients reach them only as operators. Default: each owner has actors of its own.
   */
  readonly shared?: boolean;
  /**
   * How long an idle run of it is kept after its last change, in milliseconds; then it is removed with its memory and its
   * key. Default: an actor with a key is kept for ever; a run without a key as long as the runtime keeps histories.
   */
  readonly expireMs?: number;
  /** The tools and agents that it calls. */
  readonly tools?: Tools;
  /**
   * The agents that it calls as `turn.uses.name`. The runtime option `bind` can replace each one by another
   * tool, agent or remote agent. Calls are logged under these names.
   */
  readonly uses?: Uses;
  /**
   * The schema of its configuration; without one any object is accepted. `turn.config` is the parsed
   * configuration, or the parsed `{}` if there is none; reading it throws if it does not fit. The schema must
   * be synchronous.
   */
  readonly config?: Schema<Config>;
  /**
   * The schema of `turn.memory`; if it has a default, `get` returns that at first. It must be synchronous.
   */
  readonly memorySchema?: Schema<Kept, KeptGiven>;
  /**
   * With `run`, calls from other agents use the agent's memory of the run; default `own`, which starts empty.
   */
  readonly memory?: "own" | "run";
}

/** The memory type of a schema: without a default it is empty at first. */
export type MemoryOf<Kept, KeptGiven> = Memory<
  undefined extends KeptGiven ? Kept : Kept | undefined,
  Exclude<KeptGiven, undefined>
>;

/** The return value of a chat handler: its answer, or nothing if its texts are the answer. */
// oxlint-disable-next-line typescript/no-invalid-void-type -- a handler without a return statement is the usual one
export type ChatAnswer = string | undefined | void;

/** What `defineTool` takes. */
export interface ToolOptions<Given, Input, Returned, Output>
  extends OperationOptions<Given, Input, Returned, Output, ToolTurn>, CallOptions, QueueOptions {
  readonly name: string;
  readonly description: string;
  /** Default `unsafe`: after a crash during a call, the caller gets a ToolError instead of a second call. */
  readonly effect?: Effect;
  /**
   * Says whether what the tool depends on is there, for `/readyz`. It answers at once, from what it knows; several tools can
   * share it.
   */
  readonly readiness?: ReadinessProbe;
}

/** A tool: an agent with one operation that has the tool's name. */
export type Tool<Input = unknown, Output = unknown> = Agent<
  { readonly [name: string]: Operation<Input, Output> },
  Messages,
  Record<never, never>
>;
