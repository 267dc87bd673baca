import type { DeadLetter } from "../protocol/answers/dead-letter.ts";
import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { AgentEntry } from "../protocol/answers/answers.ts";
import type { RunPhase, RunSummary } from "../protocol/answers/status.ts";
import type { Event, EventOf } from "../protocol/events/events.ts";
import type { FinishReason } from "../protocol/events/outcome-codes.ts";
import type { ArtifactId, RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent, ChatInput, Messages, Operation, Operations, Schema } from "../runtime/agent/agent.ts";
import type { OperationInput, OperationOutput } from "../runtime/agent/turn-api.ts";
import type { FollowLimits } from "./stream/follow-settings.ts";
import type { Followed } from "./stream/followed.ts";
import type { RunView } from "../view/run-view.ts";
import type { Content, WireOptions } from "./wire/wire.ts";
import type {
  AgentCall,
  OpenWait,
  RequestFollowOptions,
  AgentCallOptions,
  TellOptions,
  ConfigureOptions,
  Interruptible,
} from "./call-api.ts";

/** A server. It throws only AgentErrors, or the reason of a signal. */
export interface Client {
  readonly url: string;

  /**
   * An agent of the server. With the type of its definition, its operations have the types of their schemas. Without a
   * name it is the server's default agent, or the agent whose address the client was created with.
   */
  agent<Definition extends Agent = Agent>(name?: string): ClientOf<Definition>;

  /** The agents of the server. */
  agents(options?: Interruptible): Promise<readonly AgentEntry[]>;

  /** Lists runs, most recently updated first. */
  runs(query?: RunsQuery): Promise<RunsPage>;

  /** A run. It is not checked whether it exists. */
  run(id: RunId): RunClient;

  /** A request that was made before, for example by a page that was reloaded. */
  request(id: RequestId, options?: RequestFollowOptions): AgentCall<unknown>;

  /** The open questions of all runs, oldest first; `undefined` if the server has no list of them. */
  waits(query?: WaitsQuery): Promise<WaitsPage | undefined>;

  /**
   * What actors were told without effect, because it was refused or its turn has failed: at most 1,000, those of the run that was
   * changed last first. For operators.
   */
  deadLetters(options?: Interruptible): Promise<readonly DeadLetter[]>;

  /**
   * Follows the list of runs: its first page, then each row when it changes. A removed run is also one of another agent.
   * Throws `not_found` if the server has no such stream.
   */
  watchRuns(options?: Pick<RunsQuery, "agent" | "limit" | "signal">): AsyncGenerator<RunChange, void>;

  /** Uploads a file; put its id into `attachments` of a call. */
  upload(file: Upload, options?: Interruptible): Promise<UploadedFile>;

  /** Downloads a file by its id or by the `url` of its event; the bytes are the body of the response. */
  artifact(idOrUrl: ArtifactId | string, options?: Interruptible): Promise<Response>;

  /** Whether the server takes requests, with what it says about itself. */
  health(options?: Interruptible): Promise<Health>;
}

/** The client of an agent that is defined like this. */
export type ClientOf<Definition extends Agent> = AgentClient<
  Definition["operations"],
  NonNullable<Definition["messages"]>
>;

/** An agent of a server. */
export interface AgentClient<Ops extends Operations = Operations, Accepted extends Messages = Messages> {
  /** Empty for the server's default agent. */
  readonly name: string;
  readonly url: string;

  /** Calls an operation. The request is sent at once. */
  call<Name extends keyof Ops & string>(
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: AgentCallOptions,
  ): AgentCall<OperationOutput<Ops[Name]>>;

  /**
   * Sends a text. The result is the agent's text. If the agent returns a value, it is `{ output }`: an agent with
   * structured output does, and one without a chat of its own, whose chat calls an operation.
   */
  chat(text: string, options?: AgentCallOptions): AgentCall<ChatReply<Ops>>;

  /**
   * Sends a message to a run, which starts no turn: the agent reads it in the turn that runs, or in the next one.
   * Resolves when it is in the log.
   */
  tell<Name extends keyof Accepted & string>(
    message: Name,
    body: SentBody<Accepted[Name]>,
    options: TellOptions,
  ): Promise<void>;

  /** The run of this agent with this name; its first call or message creates it. */
  actor(key: string): ActorClient<Ops, Accepted>;

  /** A request to this agent that was made before. */
  request(id: RequestId, options?: RequestFollowOptions): AgentCall<unknown>;

  /** A run of this agent. */
  run(id: RunId): RunClient;

  /** Answers an open question of a request to this agent. */
  answer(wait: Pick<OpenWait, "requestId" | "waitId">, values: JsonObject): Promise<void>;

  /** Cancels a request to this agent. */
  cancel(id: RequestId): Promise<void>;

  describe(options?: Interruptible): Promise<AgentDescriptor>;

  /** Configures a run, or without a run the agent for later runs. It takes effect with the next turn. */
  configure(args: JsonObject, options?: ConfigureOptions): Promise<void>;
}

/** A run with a key, which exists from its first call or message on. */
export interface ActorClient<Ops extends Operations = Operations, Accepted extends Messages = Messages> {
  readonly key: string;
  call<Name extends keyof Ops & string>(
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: Omit<AgentCallOptions, "key" | "runId">,
  ): AgentCall<OperationOutput<Ops[Name]>>;
  chat(text: string, options?: Omit<AgentCallOptions, "key" | "runId">): AgentCall<ChatReply<Ops>>;
  tell<Name extends keyof Accepted & string>(
    message: Name,
    body: SentBody<Accepted[Name]>,
    options?: Omit<TellOptions, "key" | "runId">,
  ): Promise<void>;
}

/** The body of a message as its sender gives it. */
export type SentBody<Message> = Message extends Schema<infer _, infer Given> ? Given : never;

/** What a chat gives: the text of the agent, or the value of an agent with structured output. */
export type ChatReply<Ops extends Operations> = string extends keyof Ops
  ? string
  : Ops extends { readonly answer: Operation<ChatInput, infer Output> }
    ? { readonly output: Output }
    : string;

/** A run of a server. */
export interface RunClient {
  readonly id: RunId;

  /** Its events up to the end of its turn or until it waits. Reads on after the newest event when a connection breaks. */
  events(options?: EventsOptions): AsyncGenerator<Event, void>;

  /**
   * Its events in batches, and the changes of the connection. It stays open across waits and turns, and waits forever
   * for a server that cannot be reached.
   */
  follow(options?: Interruptible & { readonly after?: number }): AsyncGenerator<Followed<Event>, void>;

  /** Its state as of now. */
  view(options?: Interruptible): Promise<RunView>;

  /**
   * Creates a run with its history up to the end of a turn; by default all of it. With the id of a question of its open turn
   * (`waitId`), the new run continues that turn from before the question and asks anew, with the code that the server has now.
   */
  fork(
    options?: Interruptible & { readonly after?: number; readonly waitId?: number | undefined },
  ): Promise<RunClient>;

  /** Tries its held turn again with the code that the server has now. Throws `conflict` if no turn of it is held. */
  retry(options?: Interruptible): Promise<void>;

  /** Ends its held turn with the reason as its error; resolves with that end. Throws `conflict` if no turn of it is held. */
  end(options?: Interruptible): Promise<EventOf<"RequestCompleted">>;

  /**
   * Sends a dead letter of the run again, once, however often it is asked; resolves with the id of the new request. Throws
   * `not_found` if there is none.
   */
  sendAgain(requestId: RequestId, options?: Interruptible): Promise<RequestId>;

  /** Removes a dead letter of the run. One that is not there was removed before. */
  dismiss(requestId: RequestId, options?: Interruptible): Promise<void>;

  /** Has its actor take requests again that its supervisor has stopped. Throws `conflict` if it is not stopped. */
  resume(options?: Interruptible): Promise<void>;

  /** Removes an idle run with its events and files. It may have been removed before. */
  remove(options?: Interruptible): Promise<void>;
}

/** Which events of a run are read. */
export interface EventsOptions extends Interruptible {
  /** Only events with a greater id. Default 0: all. */
  readonly after?: number;
  /** Stays open across waits and turns. Default false. */
  readonly follow?: boolean;
  /** Ends with the newest event there is, also while a turn runs. Default false. */
  readonly soFar?: boolean;
}

/** What `createClient` takes. */
export interface ClientOptions extends WireOptions {
  /** Maximum attempts for a request whose outcome is unknown. Default 4. */
  readonly attempts?: number;
  /** Limits of streams. */
  readonly limits?: Partial<FollowLimits>;
}

/** Selects runs. */
export interface RunsQuery extends Interruptible {
  readonly agent?: string;
  /** The run with this name; only together with `agent`. */
  readonly key?: string;
  readonly status?: RunPhase;
  /** How the last turn ended. Servers that cannot filter by it ignore it. */
  readonly finishReason?: FinishReason;
  /**
   * Only runs that have each word of this text: it begins a word of the first input, the newest output or error, a value of the
   * metadata, the key or an id. Servers that cannot search ignore it.
   */
  readonly q?: string;
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of a list of runs. */
export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** A row of the list of runs that is new or has changed, or a run that was removed. */
export type RunChange = RunSummary | { readonly run_id: RunId; readonly removed: true };

/** Selects open questions. */
export interface WaitsQuery extends Interruptible {
  /** Only those in runs of this agent. */
  readonly agent?: string;
  readonly runId?: RunId;
  /** Only those that this agent asks: it can be called in a run of another one. */
  readonly askedBy?: string;
  /** Only those that somebody with this role may answer. */
  readonly approver?: string;
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of the list of open questions. */
export interface WaitsPage {
  readonly waits: readonly OpenWait[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** A file to store. */
export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Content;
  /** The run to add the file to. */
  readonly runId?: RunId;
}

/** A file that was uploaded. */
export interface UploadedFile {
  readonly artifactId: ArtifactId;
  readonly url: string;
}

/** Whether a server takes requests. */
export interface Health {
  /** Whether it takes requests. */
  readonly ready: boolean;
  /** The body of its answer. */
  readonly details: JsonObject;
}
