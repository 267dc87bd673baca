import type { DeadLetter } from "../protocol/answers/dead-letter.ts";
import type { ScheduleRequest, ScheduleSummary } from "../protocol/answers/schedule.ts";
import type { Publication, TopicDetails } from "../protocol/answers/topic.ts";
import type { StoredArtifact } from "../ports/artifact-store.ts";
import type { LogFigures, LogHealth } from "../ports/event-log.ts";
import type { Principal } from "../ports/principal.ts";
import type { Readiness } from "../ports/readiness.ts";
import type { RouterFigures } from "../ports/router.ts";
import type { Agent, Messages, Operations } from "./agent/agent.ts";
import type { AnswerLinks } from "./answer-links.ts";
import type { Audit } from "./access/audit.ts";
import type { StatisticsAnswer } from "../protocol/answers/statistics.ts";
import type { RuntimeStatisticsQuery } from "./queries/statistics.ts";
import type { Inspection } from "./inspection.ts";
import type { LiveActors } from "./system/actor-system.ts";
import type { Topic } from "./agent/topic.ts";
import type { GivenBody, OperationInput, OperationOutput, ToldBody, ToldName } from "./agent/turn-api.ts";
import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { HoldCode } from "../protocol/events/outcome-codes.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Fields, Json, JsonObject } from "../protocol/json.ts";
import type { Request } from "../protocol/requests/requests.ts";
import type { RequestStatus, RunPhase, RunRequest } from "../protocol/answers/status.ts";
import type { Address, ReadEventsOptions, EventPage, FollowOptions, Feed, AnswersOptions } from "./feeds.ts";
import type {
  SchedulesPage,
  SchedulesQuery,
  TopicsPage,
  TopicsQuery,
  RequestsPage,
  RequestsQuery,
  RunDetails,
  RunsQuery,
  WatchRunsOptions,
  WaitsQuery,
  WaitsPage,
  RunsPage,
} from "./lists.ts";

/** Where a run is forked. */
export type ForkPlace =
  | { readonly after: number; readonly waitId?: undefined }
  | { readonly after?: undefined; readonly waitId: number };

/** What a fork takes from the other run. */
export interface ForkOptions {
  /**
   * Takes the key of the other run, so that requests by the key go on in the new one; the other run then has none. `conflict` if it
   * has no key. Default false.
   */
  readonly takesKey?: boolean;
}

/**
 * A running set of agents with one log. It throws only AgentErrors. The one that `createRuntime` returns is trusted: it works
 * with the things of all owners, and makes those of `default`. That of a principal sees and does only what the principal may.
 */
export interface Runtime {
  /**
   * The runtime of a principal: it sees and steers the things of its owner, those of all owners for an operator and an admin,
   * and its name stands with what it causes. What belongs to another owner is for it as if it did not exist.
   */
  as(principal: Principal): Runtime;

  /** The name of the agent behind the root routes. */
  readonly defaultAgent: string;

  /** The names of the served agents, in the order they were given. */
  readonly agents: readonly string[];

  /** The description of an agent; `not_found` with the known names as hint for an unknown one. */
  describe(agent: string): AgentDescriptor;

  /** Resolves when every request that was open at the start has been resumed, re-armed or ended. */
  ready(): Promise<void>;

  /**
   * Accepts a request for an agent. Resolves when it is accepted, which means that it is in the log; if the
   * run is busy, its turn starts later. The values of the request are copied at once, as JSON has them: later changes
   * of the caller's objects have no effect, and a value that JSON cannot hold is `unprocessable`.
   */
  process(agent: string, request: Request): Promise<Receipt>;

  /**
   * Waits for the event that acknowledges a receipt. A turn: its RequestStarted, or with `completed` its
   * RequestCompleted or, if it waits for input, its oldest open WaitForInput. A resume: the logged ResumeWithInput.
   * A message: its MessageReceived. A cancel or a configuration: its RequestCompleted. Returns the encoded event, or `undefined` after the
   * time limit or when the signal aborts.
   */
  acknowledgement(receipt: Receipt, options: AcknowledgementOptions): Promise<string | undefined>;

  /**
   * Opens the events that answer a receipt, and nothing before them: those of its request from the acknowledging event
   * on, until the request is completed or waits for input. An older wait that is still open is no reason to stay open.
   */
  answers(receipt: Receipt, options?: AnswersOptions): Promise<Feed>;

  /** Finds the request or run of an id, in this order. `not_found`, or `gone` for a removed run. */
  resolve(id: string): Promise<Address>;

  /**
   * The actor of an agent with a key, for code outside of turns. It need not be created: its first request does that.
   * Throws `not_found` for an agent that is not served.
   */
  actor<Ops extends Operations, Accepted extends Messages>(
    agent: Agent<Ops, Accepted>,
    key: string,
  ): ActorHandle<Ops, Accepted>;

  /**
   * Runs an operation as a turn, in a new run or in the one that the options name, and resolves with its output; throws
   * `call_failed` if the turn fails. After `timeoutMs` milliseconds it throws `timeout` and leaves the turn alone.
   */
  ask<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: RuntimeAskOptions,
  ): Promise<OperationOutput<Ops[Name]>>;

  /**
   * Publishes something to a topic, under a name, for code outside of turns. Resolves when it is in the log of the topic; then
   * each subscriber is told it. The topic is a run of the agent `troupe-topic` with the name of the topic as its key.
   */
  publish<Published extends Messages, Name extends keyof Published & string>(
    to: Topic<Published>,
    name: Name,
    body: GivenBody<Published[Name]>,
    options?: ActorRequestOptions,
  ): Promise<Receipt>;

  /**
   * Finds the run of an agent that has a key; `undefined` if there is none. Creates nothing. Throws `not_found` for the name of
   * an agent that is neither served nor has runs.
   */
  find(agent: string, key: string): Promise<RunId | undefined>;

  /** The row of a run, with the metadata that it was created with; `not_found`, or `gone` for a removed run. */
  run(runId: RunId): Promise<RunDetails>;

  /**
   * What the agent of a run remembers, by default now, else as of an event; undefined for nothing. Values whose names are those of
   * secrets are replaced by `[secret]`.
   */
  memory(runId: RunId, at?: number): Promise<Json | undefined>;

  /** The newest 100 requests of a run, the newest first; `not_found`, or `gone` for a removed run. */
  requests(runId: RunId): Promise<readonly RunRequest[]>;

  /**
   * Lists the requests of all runs: those of the most recently updated run first, and of a run the one that was accepted last
   * first. With `since` or `until` a page looks at 10,000 requests or runs at most, so it can end early; `next` leads on.
   */
  listRequests(query: RequestsQuery): Promise<RequestsPage>;

  /** Reads one page of events after a cursor, without waiting. */
  read(address: Address, options: ReadEventsOptions): Promise<EventPage>;

  /** Opens a stream of events after a cursor, which ends by itself. */
  follow(address: Address, options: FollowOptions): Promise<Feed>;

  status(requestId: RequestId): Promise<RequestStatus>;

  /** Lists runs, by default the most recently updated first. */
  runs(query: RunsQuery): Promise<RunsPage>;

  /**
   * Follows the list of runs: its newest rows, then each row when it changes, at most four times a second. The items of
   * the stream are encoded RunSummary, and `{run_id, removed: true}` for a removed run of any agent. They have no
   * positions. The stream ends only when its signal aborts or its reader falls 10,000 runs behind.
   */
  watchRuns(options: WatchRunsOptions): Feed;

  /** Lists the open waits for input of all runs, oldest first. */
  waits(query: WaitsQuery): Promise<WaitsPage>;

  /** Addresses at which one wait can be answered without an account, for example from a mail. */
  readonly answerLinks: AnswerLinks;

  /** Signs the state that clients keep for the server. */
  readonly seals: Seals;

  /** Who did what, for operators. */
  readonly audit: Audit;

  /**
   * Says what turns and completions have done and used, by the hour, of the newest 400 days. Users see what is their owner's,
   * operators everything.
   */
  statistics(query: RuntimeStatisticsQuery): Promise<StatisticsAnswer>;

  /** Times at which actors get requests and messages. */
  readonly schedules: RuntimeSchedules;

  /** Subjects that actors publish to and subscribe to. */
  readonly topics: RuntimeTopics;

  /**
   * Lists what actors were told without effect: tells that were refused, and those whose turns have failed. At most 1,000, those
   * of the run that was changed last first; those of histories that retention has removed are gone.
   */
  deadLetters(): Promise<readonly DeadLetter[]>;

  /**
   * Sends a dead letter again, once, however often it is asked. The letter is removed; `not_found` if there is none. Resolves
   * when the request is in the log of its actor, with its id.
   */
  sendAgain(runId: RunId, requestId: RequestId): Promise<{ readonly requestId: RequestId }>;

  /** Removes a dead letter. One that is not there was removed before. */
  dismiss(runId: RunId, requestId: RequestId): Promise<void>;

  /** Creates a run without a turn, or finds the run that has the key. */
  createRun(agent: string, options: CreateRunOptions): Promise<RunId>;

  /**
   * Creates a run with the history of another run up to an event, to try again from there: 0 or the id of a
   * turn's RequestCompleted, otherwise `conflict`. With `waitId`, the id of a WaitForInput of its open turn, the new run
   * continues that turn from before the question, with the code of new requests, which asks anew. The other run does not change.
   */
  fork(runId: RunId, point: ForkPlace, options?: ForkOptions): Promise<RunId>;

  /**
   * Tries held turns again with the code that is served now: that of one run, or all of an agent, or all. Resolves with the
   * number of runs that were tried, when the tries have begun; what became of them is in their logs.
   */
  retryHeld(which?: HeldQuery): Promise<number>;

  /** Ends the held turn of a run with the reason as its error; `conflict` if it is not held. */
  endHeld(runId: RunId): Promise<Receipt>;

  /** Has an actor take requests again that its supervisor has stopped; `conflict` if it is not stopped. */
  resume(runId: RunId): Promise<void>;

  /** The number of held turns, by agent and reason. Reads the rows of at most 10,000 of them. */
  countHeld(): Promise<readonly HeldCount[]>;

  /** The number of open waits for input, counted up to 10,000, and the time since the oldest was opened, in milliseconds. */
  countWaits(): Promise<WaitCount>;

  /** Removes an idle run with its events and artifacts; `conflict` while a request is open. */
  removeRun(runId: RunId): Promise<void>;

  /**
   * Erases runs with their events, memory, files, secrets, schedules, keys and metadata, and overwrites them in the files of
   * the log. Open turns are canceled first. Only ids and the name of the owner stay, so that no id is used again. Resolves with
   * the number of runs when nothing of them can be read from any file; a database server overwrites later, when it needs the
   * space. An erasure that a crash interrupts goes on at the next start.
   */
  erase(things: ErasedThings): Promise<number>;

  /** Stores a file for later requests, or as part of a run. */
  upload(file: Upload): Promise<{ readonly artifactId: ArtifactId; readonly url: string }>;

  /** Finds an artifact and opens its bytes; `not_found` if there is none. */
  artifact(artifactId: ArtifactId): Promise<{
    readonly info: StoredArtifact;
    readonly body: AsyncIterable<Uint8Array>;
  }>;

  health(): RuntimeHealth;

  /**
   * The parts of the process that decide whether it gets requests, as `/readyz` shows them: the runtime, the log, the other
   * nodes, the agents and tools that depend on something, and what a program adds.
   */
  readonly readiness: Readiness;

  /** The runs in memory with what is open in them, at most 1,000; for operators. */
  actors(): readonly LoadedActor[];

  /**
   * The actors in memory as a system of XState. `get(runId)` is the actor of a run: its snapshot is the state of the run, and
   * `send({ type: name, body })` gives its agent a message, as `process` does. `inspect` attaches an inspector, which is told
   * of all actors that are there and of those that come: runs, their turns, the tools and agents that these call, machines.
   */
  readonly system: LiveActors;

  /** What operators see besides that: agents, states of runs, prompts. */
  readonly inspection: Inspection;

  /**
   * Ends a turn whose code caused a fault outside any call. Does nothing if the request is not running here.
   */
  crash(turn: { readonly runId: RunId; readonly requestId: RequestId }, reason: string): void;

  /**
   * Prepares for the end: `/readyz` says that the server is stopping, and the other nodes get the runs that this one does not work
   * on. It still takes requests. Resolves with whether another node can take them instead.
   */
  drain(): Promise<boolean>;

  /**
   * Stops accepting requests, waits up to `drainMs` for running turns, then passivates everything;
   * interrupted turns continue after the next start.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** Times at which actors get requests and messages: those of definitions, and those that actors and clients have made. */
export interface RuntimeSchedules {
  /** Lists them in a fixed order. */
  list(query: SchedulesQuery): Promise<SchedulesPage>;

  /** Makes a schedule of an actor, or replaces the one with the `id`; an actor that is named by its key is created if there is none. */
  make(agent: string, schedule: ScheduleRequest): Promise<ScheduleSummary>;

  /** Leaves its times out until it is resumed. */
  pause(runId: RunId, id: string): Promise<ScheduleSummary>;

  /** Goes on with the times from now on; a time that comes once and has passed meanwhile is made up for. */
  resume(runId: RunId, id: string): Promise<ScheduleSummary>;

  /** Removes a schedule; one that is not there was removed before. One of a definition can only be paused. */
  remove(runId: RunId, id: string): Promise<void>;

  /** Sends its request now, besides its times. */
  run(runId: RunId, id: string, options?: { readonly requestId?: RequestId }): Promise<Receipt>;
}

/** The topics of a runtime: those that it was given, and those that something was published to or that somebody has subscribed to. */
export interface RuntimeTopics {
  /** Lists them: those that have a run, the one that was changed last first, and behind them those that have none yet. */
  list(query: TopicsQuery): Promise<TopicsPage>;

  /** A topic with its subscribers; `not_found` for one that is not declared and has no run. */
  get(name: string): Promise<TopicDetails>;

  /** As `get`, of a topic that need not exist: it gets a run, which can be followed. */
  open(name: string): Promise<TopicDetails>;

  /** The newest publication of each name, at most 100; none for a topic without a run. */
  newest(name: string): Promise<readonly Publication[]>;
}

/** The runs that are erased: those that have all that is given. At least an owner, a run, a key or metadata is needed. */
export interface ErasedThings {
  readonly owner?: string;
  readonly agent?: string;
  /** This run alone; what it has asked of other actors is in their runs. */
  readonly runId?: RunId;
  /** The actor of the agent with this key, with the earlier runs that it has been renewed from. */
  readonly key?: string;
  /** Values that the metadata of the run have. */
  readonly metadata?: JsonObject;
}

/** An actor, for code outside of turns. */
export interface ActorHandle<Ops extends Operations = Operations, Accepted extends Messages = Messages> {
  readonly agent: string;
  readonly key: string;

  /**
   * Runs an operation as a turn of the actor and resolves with its output; throws `call_failed` if the turn fails.
   * After `timeoutMs` milliseconds it throws `timeout` and leaves the turn alone.
   */
  ask<Name extends keyof Ops & string>(
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: ActorRequestOptions & { readonly timeoutMs?: number },
  ): Promise<OperationOutput<Ops[Name]>>;

  /**
   * Has an operation run as a turn of the actor, or sends it a message, which its running turn or its next one reads. Resolves
   * when it is in its log.
   */
  tell<Name extends ToldName<Ops, Accepted>>(
    name: Name,
    body: ToldBody<Ops, Accepted, Name>,
    options?: ActorRequestOptions,
  ): Promise<Receipt>;

  /** The run of the actor; `undefined` if it has none yet. */
  get(): Promise<RunDetails | undefined>;
}

/** Options of `runtime.ask`. */
export interface RuntimeAskOptions extends ActorRequestOptions {
  /** The key of the run, which is created if there is none. */
  readonly key?: string;
  /** The run to continue. */
  readonly runId?: RunId;
  /** Maximum wait in milliseconds. Default: unlimited. */
  readonly timeoutMs?: number;
}

/** How an actor is asked from outside of a turn. */
export interface ActorRequestOptions {
  /** Makes the request idempotent. */
  readonly requestId?: RequestId;
}

/** Options of `close`. */
export interface CloseOptions {
  /** How long running turns may take to end, in milliseconds. Default 0. */
  readonly drainMs?: number;
  /**
   * Whether an error ends the process. The turns that it interrupts may have caused it, so it counts as a death of the
   * process; a turn that causes one after another ends with `poisoned`. Default false.
   */
  readonly isFailure?: boolean;
}

/** The result of accepting a request. */
export interface Receipt {
  /** For a configuration, a new id for its answer. */
  readonly requestId: RequestId;
  /** `null` only for the configuration of an agent, and for an operation that reads an actor which has no run. */
  readonly runId: RunId | null;
  readonly kind: "turn" | "read" | "message" | "resume" | "cancel" | "configure";
  /** The owner of the run; absent for `default`. */
  readonly owner?: string;
  /** True when the same request was accepted before. */
  readonly replayed: boolean;
  /** The encoded event that acknowledges it, if it is known at once. */
  readonly event?: string;
  /** The id of the event before those that answer this receipt. */
  readonly after: number;
}

/** How long to wait for the answer to a request. */
export interface AcknowledgementOptions {
  readonly until: "acknowledged" | "completed";
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Selects held turns. */
export interface HeldQuery {
  readonly runId?: RunId;
  readonly agent?: string;
}

/** How many turns of an agent are held for one reason. */
export interface HeldCount {
  readonly agent: string;
  readonly code: HoldCode;
  readonly turns: number;
}

/** What a run has before its first request. */
export interface CreateRunOptions {
  readonly input?: Json;
  readonly metadata?: JsonObject;
  /** A name to find the run again, unique among the runs of its agent. */
  readonly key?: string;
}

/** A file to store. */
export interface Upload {
  /** Its name, or a function that is called when all bytes were read, if the name is known only then. */
  readonly name: string | (() => Promise<string>);
  readonly mimeType: string;
  readonly body: AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
  readonly runId?: RunId;
}

/** A run in memory. */
export interface LoadedActor {
  readonly runId: RunId;
  readonly agent: string;
  readonly key?: string;
  readonly status: RunPhase;
  /** The number of queued requests. */
  readonly queued: number;
  /** The number of unread messages. */
  readonly unread: number;
  /** The request whose turn is open. */
  readonly requestId?: RequestId;
  /** When it is removed if nothing happens to it until then, in milliseconds since 1970; only for an idle actor that expires. */
  readonly expiresAt?: number;
  /** The open calls of its turn, if that is in memory; at most 1,000. */
  readonly calls: readonly LoadedCall[];
}

/** An open call of a turn in memory. */
export interface LoadedCall {
  readonly callId: CallId;
  /** What is open: an agent, an effect, a completion, a wait, a sleep … */
  readonly kind: string;
  readonly name: string;
}

/** The state of a runtime, for monitoring. */
export interface RuntimeHealth {
  readonly ready: boolean;
  readonly closing: boolean;
  readonly durability: "memory" | "relaxed" | "full";
  readonly log: LogHealth;
  /** What this node has done with others; absent with one process. */
  readonly figures?: RouterFigures;
  /** What the engine of the log has done for this process; absent if it does not count. */
  readonly logFigures?: LogFigures;
  /** Runs in memory. */
  readonly activeRuns: number;
  /** Running turns, without waiting ones. */
  readonly activeTurns: number;
  /** Requests that wait in the mailboxes of runs in memory. */
  readonly queuedRequests: number;
  /** The calls that have a slot of a tool or model with a limit, and those that wait for one. */
  readonly slots: { readonly taken: number; readonly waiting: number };
  /** The models that are away or have failed lately. */
  readonly models: readonly ModelLoad[];
}

/** Open waits for input. */
export interface WaitCount {
  readonly waits: number;
  /** How long the oldest one is open, in milliseconds; 0 without one. */
  readonly oldestMs: number;
}

/** A model that is away, has failed lately, or answers again while others wait for it. */
export interface ModelLoad {
  /** Its name, with its account in brackets if it has one. */
  readonly model: string;
  /** Whether at most one request at a time asks it, to find out whether it is there. */
  readonly isAway: boolean;
  /** The calls and runs that wait for it. */
  readonly waiting: number;
}

/**
 * Signs what a client keeps for the server and gives back later, perhaps on another connection, to another node or after a restart,
 * and hides what only the server may read. The keys are in the secret store.
 */
export interface Seals {
  /** A text with the fields, at most 6 KiB of JSON, which the client can read. It is valid for the owner of this runtime alone. */
  seal(purpose: string, fields: JsonObject): Promise<string>;
  /** The fields of a text that was sealed for the purpose; `undefined` for any other text, and for that of another owner. */
  open(purpose: string, text: string): Promise<Fields | undefined>;
  /**
   * A text with the fields that only the server can read: for what must not be readable in the log. Throws `unprocessable` for more than
   * 12,272 bytes of JSON.
   */
  hide(purpose: string, fields: JsonObject): Promise<string>;
  /** The fields of a text that was hidden for the purpose; `undefined` for any other text, and for that of another owner. */
  reveal(purpose: string, text: string): Promise<Fields | undefined>;
}
