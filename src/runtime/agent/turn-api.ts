import type { ActorRef, SenderRef } from "../../protocol/actors.ts";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { LanguageModel, Model } from "../../ports/model.ts";
import type { Approval, ClientToolCall } from "../../protocol/events/event-body.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { ModelErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { ActorAddress, ActorPlace } from "./actor-address.ts";
import type { Agent, Collaborators, Messages, Operation, Operations, Schema, Tool } from "./agent.ts";
import type { Topic } from "./topic.ts";
import type { CallOptions, EffectOptions, ModelRetryOptions, TimeoutOption } from "./call-options.ts";

/**
 * The actions of a handler while it answers a request. Each one is an event or a record in the run's log,
 * which is also the journal of the turn. When the process dies, the handler runs again: calls whose results
 * are in the log return them at once, logged texts are not logged again, and the turn continues live where
 * the log ends.
 *
 * So a handler must take the same path every time: it branches only on its input, its results and its
 * answers; time, randomness and I/O go through the turn; plain `await`s are sequential, and parallel
 * sequences use `all`.
 */
export interface Turn<
  Uses extends Collaborators = Collaborators,
  Config = JsonObject,
  OwnMemory extends Memory<unknown, unknown> = Memory,
  Accepted extends Messages = Messages,
> {
  readonly request: TurnRequestInfo;
  /** The name of the agent that runs. */
  readonly agent: string;
  /** The agents that this one uses, or their replacements; for `turn.call` and `turn.tool`. */
  readonly uses: Uses;
  /** The `request_metadata` of the request. */
  readonly metadata: JsonObject;
  /**
   * The configuration of this agent at the start of the request, or at the call if another agent calls it. A
   * tool gets the configuration of the agent that calls it.
   */
  readonly config: Config;
  /**
   * The files of the request; a called agent gets none. Files never change, so reading one is not journaled.
   */
  attachments(): Promise<readonly Attachment[]>;
  /**
   * The headers `traceparent`, `tracestate` and `baggage` for what the handler asks of others, by `fetch` for example: what they
   * do belongs to the trace of the request then. Equal on a replay.
   */
  traceHeaders(): Readonly<Record<string, string>>;
  /** Aborts when the request is canceled or its time is over. */
  readonly signal: AbortSignal;
  /** The agent's memory of this run. */
  readonly memory: OwnMemory;

  /**
   * Sends a text. Resolves when it is in the log, or on a busy server at once while it gathers with those that follow (at most
   * 4,096 characters); awaiting each text makes a fast turn as slow as the log. At most 1,000 texts or 1 MiB may be uncommitted; above that the turn ends with `overloaded`. If the caller iterates
   * the call, a text also waits while 1,000 events are not delivered to it; with 10,000 the turn ends with `overloaded`.
   */
  text(content: string): Promise<void>;

  /** Calls a tool. */
  tool<Input, Output>(tool: Tool<Input, Output>, input: NoInfer<Input>, options?: CallOptions): Call<Output>;

  /** Calls an operation of another agent, as a child of this turn. */
  call<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: CallOptions,
  ): Call<OperationOutput<Ops[Name]>>;

  /** The address of this actor: its agent and its run. Plain data, so it can be sent to other actors. */
  readonly self: ActorRef;

  /**
   * The actor that sent the request; absent for a client. An address with `server` comes from another server and is
   * only a claim.
   */
  readonly sender?: SenderRef | undefined;

  /**
   * The address of an actor: an agent that this server serves, and the key of its run or an address that was
   * received, for example `turn.sender`. An actor needs not be created: its first request does that.
   */
  actor<Ops extends Operations, Theirs extends Messages>(
    agent: Agent<Ops, Theirs>,
    place: ActorPlace,
  ): ActorAddress<Ops, Theirs>;

  /**
   * Asks another actor: its operation runs as a turn of its own, after those that it has accepted before. Resolves
   * with the output. It arrives exactly once, also if one of the processes dies. After `timeoutMs` milliseconds it fails with
   * `timeout`, and the request to the other actor is canceled.
   */
  ask<Ops extends Operations, Name extends keyof Ops & string>(
    actor: ActorAddress<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: AskOptions,
  ): Promise<OperationOutput<Ops[Name]>>;

  /**
   * Tells another actor something: its operation runs as a turn of its own, and this turn does not wait for it; or sends it a
   * message, which its running turn or its next one reads. Resolves when it is in the log of the other actor. A handler that
   * returns first waits for that.
   */
  tell<Ops extends Operations, Theirs extends Messages, Name extends ToldName<Ops, Theirs>>(
    actor: ActorAddress<Ops, Theirs>,
    name: Name,
    body: ToldBody<Ops, Theirs, Name>,
    options?: AskOptions,
  ): Promise<ToldRequest>;

  /**
   * Tells an actor something at a time or again and again, also if this turn has ended by then: an operation or a message. The schedule
   * is one of the actor that is told, and lasts over restarts and renewals; one with the same `id` is replaced. Resolves when it is in
   * the log. A time that comes again is left out while the request of an earlier one is open, unless `overlap` is `queue`; of
   * times that pass while no server runs, the newest is made up.
   */
  schedule<Ops extends Operations, Theirs extends Messages, Name extends ToldName<Ops, Theirs>>(
    actor: ActorAddress<Ops, Theirs>,
    name: Name,
    body: ToldBody<Ops, Theirs, Name>,
    when: ScheduledTime,
  ): Promise<MadeSchedule>;

  /** Removes a schedule of this actor, or of another one. One that is not there was removed before. */
  unschedule(id: string, actor?: ActorAddress): Promise<void>;

  /** The schedules of this actor, or of another one, also those of its definition. Equal on replay. */
  schedules(actor?: ActorAddress): Promise<readonly ScheduleSummary[]>;

  /**
   * An address, below that of the server, at which its holder can answer a question of this turn without an account:
   * `const answer = turn.waitForInput(…); const link = await turn.answerLink(answer)`. It shows the form, works without
   * scripts, and ends with the question or when its time is over. It is equal on replay.
   */
  answerLink(wait: Promise<unknown>, options?: AnswerLinkOptions): Promise<string>;

  /**
   * Watches another actor: at the end of each of its turns, or with `failed` of each that fails, this actor gets the message or
   * the request `ended`, which its agent declares, for example with `messages: { ended }`. Resolves when that is in the log of
   * the other actor. It lasts until `unwatch`, over restarts and renewals of both.
   */
  watch(actor: ActorAddress, options?: WatchOptions): Promise<void>;

  /** Ends `watch`. What was under way may still arrive. */
  unwatch(actor: ActorAddress): Promise<void>;

  /**
   * Publishes something to a topic, under a name. Resolves when it is in the log of the topic; then each subscriber is told it
   * as if by `tell`: exactly once, and in the order of the topic. Fails as a tell with `invalid_input` if the topic declares
   * other messages.
   */
  publish<Published extends Messages, Name extends keyof Published & string>(
    to: Topic<Published>,
    name: Name,
    body: GivenBody<Published[Name]>,
  ): Promise<ToldRequest>;

  /**
   * Subscribes this actor to a topic: it is told what is published under these names, which are operations or messages of its
   * agent. Resolves when that is in the log of the topic. A further call replaces the names. It lasts until `unsubscribe`, over
   * restarts and renewals. A topic with `retain: 1` gives the newest publication of each name first.
   */
  subscribe<Published extends Messages>(
    to: Topic<Published>,
    names: (keyof Published & string) | readonly (keyof Published & string)[],
  ): Promise<void>;

  /** Ends `subscribe`. What was under way may still arrive. */
  unsubscribe(from: Topic<Messages>): Promise<void>;

  /** Asks the caller and waits until a deadline; `undefined` if no answer came before it. */
  waitForInput<Values>(schema: Schema<Values>, options: TimedWaitOptions): Promise<Values | undefined>;
  /** Asks the caller for values that fit a schema, and waits as long as needed. */
  waitForInput<Values>(schema: Schema<Values>, options?: WaitOptions): Promise<Values>;
  /** Asks the caller for one JSON value per key; the texts describe the values. */
  waitForInput(questions: { readonly [key: string]: string }): Promise<JsonObject>;
  waitForInput(
    questions: { readonly [key: string]: string },
    options: TimedWaitOptions,
  ): Promise<JsonObject | undefined>;

  /**
   * Takes the oldest unread message with this name, or waits for one; `undefined` if none comes in time. With a list of names,
   * it takes the oldest with one of them, and gives its name and body. Each message has one reader. `cancel()` of the promise
   * ends the wait with the error `canceled`, unless it has ended. Only for the requested agent: in a called agent it throws.
   */
  readonly receive: Receive<Accepted>;

  /**
   * Waits for what comes first: a message (`turn.receive.of`), or the end of a promise, for example a call. Gives the name of
   * the entry and its value; `undefined` at the deadline; throws if the promise that comes first fails. A message that is
   * unread already comes before everything else. No message is lost: those that come later stay unread. Calls that do not come
   * first go on, and can be given to the next select.
   *
   * @example
   * const first = await turn.select({ stop: turn.receive.of("stop"), done: call }, { timeoutMs: 60_000 });
   * if (first?.name === "stop") call.cancel();
   */
  select<Entries extends SelectEntries>(
    entries: Entries,
    options: ReceiveOptions & { readonly timeoutMs: number },
  ): Promise<Selected<Entries> | undefined>;
  select<Entries extends SelectEntries>(entries: Entries): Promise<Selected<Entries>>;

  /** Takes all messages with this name that are unread now, oldest first. A called agent has none. */
  received<Name extends keyof Accepted & string>(name: Name): readonly MessageBody<Accepted[Name]>[];

  /**
   * Ends the turn and begins the next one of the same request, with an operation of the agent: `return turn.continueAs(…)`.
   * The memory is kept, and the request stays open: its caller gets the answer of the last turn. What was before is not run
   * again after a crash, so a loop of turns can go on for ever. Only for the requested agent: in a called agent it throws.
   */
  continueAs(operation: string, input: unknown): never;

  /**
   * Registers a step that runs if the turn does not succeed: if it is canceled, fails or exceeds its time. The steps run after
   * the open calls are canceled, the newest first, each with a turn of its own that can call, ask and tell; they have a minute
   * together (`limits.cleanupMs`), are logged, and continue after a crash. One that throws does not stop the others. What a step
   * sets in the memory is kept. Register a step before the call that it undoes, since a cancel can come right after that call.
   * Only for the requested agent: in a called agent it throws.
   *
   * @example
   * turn.cleanup((own) => own.tool(cancelFlight, { booking }));
   * await turn.tool(bookFlight, { booking });
   */
  cleanup(step: (turn: Turn<Uses, Config, OwnMemory, Accepted>) => unknown): void;

  /** Publishes a file. */
  artifact(artifact: ArtifactOptions): Promise<Artifact>;

  /**
   * Runs code with an outside effect and journals its result, as a tool call with this name. `effect` says
   * whether it may run again if a crash leaves its outcome unknown; default `unsafe`.
   */
  effect<Value extends Json | undefined | void>(
    name: string,
    perform: (context: EffectContext) => Value | Promise<Value>,
    options?: EffectOptions,
  ): Promise<Value>;

  /**
   * Asks a model. Its text is streamed as text of this agent, its result is journaled, and a completion in
   * the log is never requested again.
   */
  complete(options: CompletionOptions): Promise<Json>;

  /** Waits. A restart does not restart the time. */
  sleep(ms: number): Promise<void>;

  /** The time in milliseconds since 1970, equal on replay. */
  now(): number;

  /** A random number from 0 (included) to 1 (excluded), equal on replay. */
  random(): number;

  /**
   * Whether the turn takes the new path of a change: true if it comes to this place for the first time with code that has
   * the patch, false if it passed the place before. The first answer for an id holds for the whole turn.
   *
   * @example if (turn.patched("check-stock")) await turn.tool(checkStock, { item });
   */
  patched(id: string): boolean;

  /** Runs parallel sequences, each with its own turn; this turn cannot be used until all have ended. */
  all<Branches extends readonly ((turn: Turn<Uses, Config, OwnMemory, Accepted>) => unknown)[]>(
    branches: readonly [...Branches],
  ): Promise<{ -readonly [Index in keyof Branches]: Awaited<ReturnType<Branches[Index]>> }>;
}

/** What the handler of an operation that only reads gets instead of a turn. */
export type ReadTurn<OwnTurn = Turn> = Pick<
  OwnTurn,
  keyof OwnTurn & ("agent" | "config" | "metadata" | "now" | "request" | "self" | "sender")
> & {
  /** The agent's memory of this run, as the newest turn that has ended left it. */
  readonly memory: OwnTurn extends { readonly memory: { get(): infer Kept } } ? { get(): Kept } : never;
};

/**
 * Options of an ask or a tell. The time limit of a tell is one for its acceptance. Each attempt of a retried ask is a
 * request of its own; by default it is asked again only after `overloaded`, when the other actor surely did nothing.
 */
export type AskOptions = CallOptions;

/** Options of `turn.watch`. */
export interface WatchOptions {
  /** Whether only turns that end with an error count. Default false. */
  readonly failed?: boolean;
}

/** The request of a tell. */
export interface ToldRequest {
  readonly runId: RunId;
  readonly requestId: RequestId;
}

/** The turn of a tool, which can also report progress. */
export interface ToolTurn extends Turn {
  /**
   * An idempotency key for what the tool changes outside: equal on every attempt of this call, and unique over all
   * runs and servers. At most 128 letters, digits, `-`, `_` and `.`.
   */
  readonly callId: string;

  /**
   * Reports progress. Unlike a text it is not compared on replay, so it can contain data from outside. It is
   * dropped if too much is uncommitted, or not delivered to the code that iterates the call.
   */
  progress(content: string): void;
}

/**
 * A running call. Await it to get its result. Iterate it to get the events under it, each after it is
 * committed; the iteration ends with the call, and throws if the call fails.
 *
 * A handler receives events, results and answers one at a time, in the order of the log, also on replay, so
 * it can do anything in between. Start the iteration where the call is made:
 * `for await (const event of turn.call(…))`. A later iteration throws `conflict`, because the number of
 * missed events would differ between replays.
 */
export interface Call<Output> extends Promise<Output>, AsyncIterable<Event> {
  /**
   * Cancels the call and everything under it: it fails with `canceled`. A call that has ended is left alone. Like
   * everything in a handler, this must happen at the same place on a replay.
   */
  cancel(): void;
  /**
   * The result as text for a model: the text, or the value as JSON, then a line `name (type) url` for each
   * file. At most 64 KiB; a cut is marked.
   */
  text(): Promise<string>;
  /** The files that the callee has published, once there is a result. */
  files(): Promise<readonly Artifact[]>;
}

/** The input type for callers of an operation. */
export type OperationInput<Op> = Op extends Operation<infer Input, infer _> ? Input : never;

/** The output type for callers of an operation. */
export type OperationOutput<Op> = Op extends Operation<infer _, infer Output> ? Output : never;

/** What an actor can be told: its operations and its messages, which have no name in common. */
export type ToldName<Ops extends Operations, Accepted extends Messages> = (keyof Ops | keyof Accepted) &
  string;

/** The input of an operation or the body of a message, as its sender gives it. */
export type ToldBody<
  Ops extends Operations,
  Accepted extends Messages,
  Name extends ToldName<Ops, Accepted>,
> = Name extends keyof Ops
  ? OperationInput<Ops[Name]>
  : Name extends keyof Accepted
    ? GivenBody<Accepted[Name]>
    : never;

/** The body of a message as its schema parses it. */
export type MessageBody<Message> = Message extends Schema<infer Body> ? Body : never;

/** Who gets an address to answer one wait at, and for how long. */
export interface AnswerLinkOptions {
  /** How long the address works, in milliseconds; it ends with the wait in any case. Default seven days. */
  readonly expiresMs?: number;
  /** The person it is for, at most 48 bytes. Others who come later read the name of who has answered. */
  readonly name?: string;
  /** The roles that its holder has for this answer. Default: none. */
  readonly roles?: readonly string[];
}

/** Options of `turn.waitForInput`. */
export interface WaitOptions {
  /** The call that a human is asked to approve, for clients that show it. Only the required values are then asked for. */
  readonly approval?: Approval;
  /** The call of a tool that the client runs, whose result is asked. Only the required values are then asked for. */
  readonly tool?: ClientToolCall;
  /**
   * The roles that may answer, 1 to 20 of them; an admin may too. Other principals of the owner see the question, but not its
   * form. Default: everyone who sees it.
   */
  readonly approvers?: readonly string[];
}

/** Options of `turn.waitForInput` with a time limit. */
export interface TimedWaitOptions extends WaitOptions {
  /** Maximum wait in milliseconds, restarts included. */
  readonly timeoutMs: number;
}

/** The body of a message as its sender gives it. */
export type GivenBody<Message> = Message extends StandardSchemaV1<infer Given, infer _> ? Given : never;

/**
 * When something is sent. Once: `at`, in milliseconds since 1970 or as a Date, or `afterMs` milliseconds from now. Again and again:
 * `everyMs` milliseconds, from 100 ms to 100 years, or at the times of a `cron` text of five fields in a time zone, by default `UTC`.
 */
export type ScheduledTime = OneTime & {
  /** Names the schedule, and replaces the one of the actor that has the name. Default: a new one. */
  readonly id?: string;
  /** What happens at a time when the request of an earlier one is open. Default `skip`, and `queue` for a time that comes once. */
  readonly overlap?: "skip" | "queue";
};

type OneTime =
  | (Omit<NoTime, "at"> & { readonly at: number | Date })
  | (Omit<NoTime, "afterMs"> & { readonly afterMs: number })
  | (Omit<NoTime, "everyMs"> & { readonly everyMs: number })
  | (Omit<NoTime, "cron" | "timezone"> & { readonly cron: string; readonly timezone?: string });

interface NoTime {
  readonly at?: undefined;
  readonly afterMs?: undefined;
  readonly everyMs?: undefined;
  readonly cron?: undefined;
  readonly timezone?: undefined;
}

/** A schedule that was made. */
export interface MadeSchedule {
  readonly id: string;
  /** The id of the request that is sent, if the time comes once. */
  readonly requestId?: RequestId;
}

/** `turn.receive`, for the messages of an agent. */
export type Receive<Accepted extends Messages> = ReceiveMethods<Accepted>["receive"] & {
  /** The messages that an entry of `turn.select` waits for. */
  readonly of: ReceiveMethods<Accepted>["of"];
};

/** Declared as methods, so that the turn of an agent can be given where any turn fits. */
interface ReceiveMethods<Accepted extends Messages> {
  receive<Name extends keyof Accepted & string>(
    name: Name,
    options?: ReceiveOptions,
  ): ReceivedMessage<MessageBody<Accepted[Name]> | undefined>;
  receive<Name extends keyof Accepted & string>(
    names: readonly Name[],
    options?: ReceiveOptions,
  ): ReceivedMessage<NamedMessage<Accepted, Name> | undefined>;
  of<Name extends keyof Accepted & string>(name: Name): MessageEntry<MessageBody<Accepted[Name]>>;
  of<Name extends keyof Accepted & string>(
    names: readonly Name[],
  ): MessageEntry<NamedMessage<Accepted, Name>>;
}

/** A wait for a message. Like everything in a handler, a cancel must happen at the same place on a replay. */
export interface ReceivedMessage<Body> extends Promise<Body> {
  /** Ends the wait with the error `canceled`; a message that was taken already is not lost. */
  cancel(): void;
}

/** A message with its name. */
export type NamedMessage<Accepted extends Messages, Name extends keyof Accepted> = {
  readonly [Each in Name]: { readonly name: Each; readonly body: MessageBody<Accepted[Each]> };
}[Name];

declare const BODY: unique symbol;

/** Messages that an entry of `turn.select` waits for. */
export interface MessageEntry<Body = unknown> {
  readonly names: readonly string[];
  /** Only a type. */
  readonly [BODY]?: Body;
}

/** What `turn.select` waits for, by name: messages, or promises. */
export interface SelectEntries {
  readonly [name: string]: MessageEntry | PromiseLike<unknown>;
}

/** What came first: the name of the entry and its value. */
export type Selected<Entries extends SelectEntries> = {
  readonly [Name in keyof Entries & string]: {
    readonly name: Name;
    readonly value: Entries[Name] extends MessageEntry<infer Body> ? Body : Awaited<Entries[Name]>;
  };
}[keyof Entries & string];

/** How long `turn.receive` waits. */
export interface ReceiveOptions {
  /** Maximum wait in milliseconds. Default: unlimited. A restart does not restart the time. */
  readonly timeoutMs?: number;
}

/** The request of a turn. */
export interface TurnRequestInfo {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly operation: string;
  readonly input: Json;
  readonly attachments: readonly ArtifactId[];
  /** Tools that the client runs itself; absent if it has brought none. */
  readonly tools?: readonly ClientTool[];
}

/** A JSON value of at most 1 MiB that an agent keeps in a run; written when a turn succeeds. */
export interface Memory<Kept = Json | undefined, Given = Json> {
  /** The value at the start of the turn, or the one that this turn set; `undefined` if there is none. */
  get(): Kept;
  set(value: Given): void;
}

/** Context of an effect. */
export interface EffectContext {
  /**
   * An idempotency key for what the effect changes outside: equal on every attempt of this call, and unique over all
   * runs and servers. At most 128 letters, digits, `-`, `_` and `.`.
   */
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** The options of a completion. */
export interface CompletionOptions extends TimeoutOption {
  /** The model, or a language model of an AI SDK provider as it is. */
  readonly model: Model | LanguageModel;
  /**
   * The model's input; not stored, because a replay creates it again. Models of providers take a text, or a `Prompt` of
   * `troupe/llm`.
   */
  readonly input: Json;
  /** How it is tried again while the model is away. The turn rests meanwhile and needs no memory. */
  readonly retry?: ModelRetryOptions;
  /** Models that are asked at once, in this order, when the model is away; or a function that chooses them by the error. */
  readonly fallback?: ModelFallback;
  /**
   * The first part of the answer must come within this time, in milliseconds; otherwise the attempt has failed as if the
   * model were away. Default one minute.
   */
  readonly firstTokenMs?: number;
  /** The same for each further part. Default one minute. */
  readonly idleMs?: number;
  /** Comes before the first text of the model. */
  readonly prefix?: string;
  /** Whether what the model says is no answer of the agent: it is streamed as reasoning. */
  readonly asReasoning?: boolean;
  /**
   * Judges an answer before anything of it is said or logged, and returns what is said and logged in its place. The model's
   * text is withheld until then, and its reasoning is not shown. It is part of the attempt: if it throws, the completion has
   * failed. It is not called again for an answer that is in the log.
   */
  readonly review?: (answer: ReviewedAnswer, signal: AbortSignal) => ReviewedAnswer | Promise<ReviewedAnswer>;
}

/** What a model has said, and its result. */
export interface ReviewedAnswer {
  readonly text: string;
  readonly result: Json;
}

/** The models that are asked instead of one that gave no answer. */
export type ModelFallback =
  | readonly (Model | LanguageModel)[]
  | ((error: FailedCompletion) => readonly (Model | LanguageModel)[]);

/** Why an attempt of a completion failed. */
export interface FailedCompletion {
  /** Absent if the provider does not say it. */
  readonly code?: ModelErrorCode;
  readonly message: string;
  /** The name of the model that was asked. */
  readonly model: string;
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
  readonly sizeBytes: number;
}

/** A file of a request. */
export interface Attachment extends Artifact {
  /** Reads the whole file. */
  bytes(): Promise<Uint8Array>;
  /** Reads the whole file as UTF-8. */
  text(): Promise<string>;
}
