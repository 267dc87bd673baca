import type { Model } from "../../ports/model.ts";
import type { Event } from "../../protocol/events.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Agent, Collaborators, Effect, Operation, Operations, Schema, Tool } from "./agent.ts";

/**
 * What a handler may do while it answers a request. Everything it does through its turn is an event
 * or a record in the run's log, and therefore its journal: when the process dies, the handler runs
 * again, calls whose results the log holds return them at once, texts already logged are not logged
 * again, and the turn goes on live where the log ends.
 *
 * For that, a handler takes the same path every time: it branches only on its input, its results and
 * its answers; time, randomness and I/O go through the turn; plain `await`s stand in sequence, and
 * parallel sequences use `all`.
 */
export interface Turn<
  Uses extends Collaborators = Collaborators,
  Config = JsonObject,
  OwnMemory extends Memory<unknown, unknown> = Memory,
> {
  readonly request: TurnRequestInfo;
  /** The name of the agent that answers. */
  readonly agent: string;
  /** The agents that this one uses, or who was put in their place; `turn.call` and `turn.tool` take them. */
  readonly uses: Uses;
  /** What the request carried as `request_metadata`. */
  readonly metadata: JsonObject;
  /**
   * How this agent was configured when the request started, or, if another agent asks, when it called. A tool
   * has the configuration of the agent that calls it.
   */
  readonly config: Config;
  /**
   * The files that came with the request; an agent that another one calls is not given them. They never change,
   * so that to read one is not written down.
   */
  attachments(): Promise<readonly Attachment[]>;
  /** Fires when the request is canceled or its time is over. */
  readonly signal: AbortSignal;
  /** The agent's memory of this run. */
  readonly memory: OwnMemory;

  /**
   * Says some text. Resolves when it is in the log; awaiting it makes a fast turn as slow as the log.
   * Up to 1,000 texts or 1 MiB may wait at a time, beyond that the turn ends with `overloaded`.
   */
  text(content: string): Promise<void>;

  /** Calls a tool with its one operation. */
  tool<Input, Output>(tool: Tool<Input, Output>, input: NoInfer<Input>): Call<Output>;

  /** Asks another agent for one of its operations, as a child of this turn. */
  call<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
  ): Call<OperationOutput<Ops[Name]>>;

  /** Asks the caller for values that fit a schema, however long it takes. */
  waitForInput<Values>(schema: Schema<Values>): Promise<Values>;
  /** Asks the caller for one value of any kind for each key; the texts describe them. */
  waitForInput(questions: { readonly [key: string]: string }): Promise<JsonObject>;

  /** Publishes a file. */
  artifact(artifact: ArtifactOptions): Promise<Artifact>;

  /**
   * Does something outside and journals its result, under a name that shows in the log as a tool call. Whether
   * it may be done again when a crash leaves open what became of it is said by `effect`, default `unsafe`.
   */
  effect<Value extends Json | undefined | void>(
    name: string,
    perform: (context: EffectContext) => Value | Promise<Value>,
    options?: { readonly effect?: Effect },
  ): Promise<Value>;

  /**
   * Asks a model. What it says is streamed as text of this agent, what it made is journaled, and a
   * completion that the log has is never asked for again.
   */
  complete(options: CompletionOptions): Promise<Json>;

  /** Waits; a restart does not start the time again. */
  sleep(ms: number): Promise<void>;

  /** The time in milliseconds since 1970, equal on replay. */
  now(): number;

  /** A number from 0 up to but not including 1, equal on replay. */
  random(): number;

  /** Runs parallel sequences, each with a turn of its own; this turn cannot be used until all have ended. */
  all<Branches extends readonly ((turn: Turn<Uses, Config, OwnMemory>) => unknown)[]>(
    branches: readonly [...Branches],
  ): Promise<{ -readonly [Index in keyof Branches]: Awaited<ReturnType<Branches[Index]>> }>;
}

/** What a tool gets: a turn, and a way to tell what happens outside while it happens. */
export interface ToolTurn extends Turn {
  /** Names the call, equally on every attempt: the idempotency key for the other side. */
  readonly callId: string;

  /**
   * Tells how far the tool has come. Unlike a text it is not compared when the tool runs again after a
   * crash, so it may come from outside; what the log has no room for at the moment is left out.
   */
  progress(content: string): void;
}

/**
 * A call under way: awaited, it gives its result. Iterated, it gives the events that arise under it, each
 * when it is in the log, and ends with the call; when the call fails, so does the iteration.
 *
 * Events, results and answers reach a handler one at a time, in the order of the log, also when it is
 * replayed; so it may do anything in between. Iterate where the call is made,
 * `for await (const event of turn.call(…))`: a call whose events are asked for later throws `conflict`,
 * because how many have passed by then is not the same every time.
 */
export interface Call<Output> extends Promise<Output>, AsyncIterable<Event> {
  /**
   * The result in words, as a model is told of it: the text, or the value as JSON, then a line
   * `name (type) url` for each file. At most 64 KiB; what is cut off says so.
   */
  text(): Promise<string>;
}

/** The input that callers of an operation give. */
export type OperationInput<Op> = Op extends Operation<infer Input, infer _> ? Input : never;

/** The output that callers of an operation get. */
export type OperationOutput<Op> = Op extends Operation<infer _, infer Output> ? Output : never;

/** What was asked. */
export interface TurnRequestInfo {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly operation: string;
  readonly input: Json;
  readonly attachments: readonly ArtifactId[];
}

/** A JSON value of at most 1 MiB that an agent keeps for a run; written when a turn succeeds. */
export interface Memory<Kept = Json | undefined, Given = Json> {
  /** The value as of the start of the turn, or what this turn set; `undefined` when there is none yet. */
  get(): Kept;
  set(value: Given): void;
}

/** What an effect is told. */
export interface EffectContext {
  /** Equal on every attempt: the idempotency key for the other side. */
  readonly callId: string;
  /** 1 the first time. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** What to ask which model. */
export interface CompletionOptions {
  readonly model: Model;
  /** What the model takes; kept nowhere, since a replay makes it again. */
  readonly input: Json;
}

/** A file to publish. */
export interface ArtifactOptions {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Uint8Array | string;
}

/** A published file. */
export interface Artifact {
  readonly artifactId: ArtifactId;
  readonly name: string;
  readonly mimeType: string;
  readonly url: string;
}

/** A file that came with a request. */
export interface Attachment extends Artifact {
  readonly sizeBytes: number;
  /** Reads the whole of it. */
  bytes(): Promise<Uint8Array>;
  /** Reads the whole of it as UTF-8. */
  text(): Promise<string>;
}
