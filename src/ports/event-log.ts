import type { LoggedEvents } from "../protocol/events/texts.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import type { AuditTrail } from "./audit.ts";
import type {
  ClaimOptions,
  OutboxQuery,
  ScheduleQuery,
  OwnerQuery,
  ReadOptions,
  RequestQuery,
  RequestListQuery,
  ParkedQuery,
  RunIdQuery,
  RunEntryQuery,
  WakeQuery,
  WaitEntryQuery,
} from "./log-queries.ts";
import type { NodeDirectory } from "./node-directory.ts";
import type { ReadinessPart } from "./readiness.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Spending } from "./spending.ts";
import type { Statistics } from "./statistics.ts";
import type { VersionStore } from "./version-store.ts";
import type { LogWakes } from "./router.ts";
import type { Base, LogRecord, Batch, RunAlias } from "./log-batch.ts";
import type {
  RunEntry,
  RequestEntry,
  RequestEntryPage,
  WaitEntryPage,
  OutboxEntry,
  ScheduleEntry,
  ScheduleEntryPage,
  RunEntryPage,
  Snapshot,
} from "./log-entries.ts";

/**
 * The durable log of all runs: the source of truth.
 *
 * A run's log is one sequence of events, numbered 1, 2, 3 … by position, with journal records between them.
 * Its owner claims the run and then appends batches one after the other; an owner never has two appends of
 * one run in flight. Readers need no claim.
 *
 * Guarantees of every engine, checked by `testEventLog`:
 *
 * - An append is all or nothing, exactly at the head of its cursor. An acknowledged append is durable to the
 *   engine's stated degree and is read back unchanged for as long as the run exists.
 * - A claim fences every older cursor of that run: a later append with one fails with `Fenced` and changes
 *   nothing.
 * - An append that fails with `Unavailable` has an unknown outcome. An engine that another process runs first tries for
 *   up to 15 s to find out whether the append is in the log. The engine then refuses further appends
 *   (`health().writable` is false) until it is opened again or reports that it has recovered; the caller
 *   determines the outcome by claiming and reading. Reads still work.
 * - What an engine cannot answer at present, because it does not reach its storage, fails with an AgentError `unavailable`:
 *   the caller may ask again. `Unavailable` from a question is a fault, for example of a damaged run.
 * - `read` from any position returns the same events as any other `read`, live or later, until their run moves its base
 *   behind them.
 *
 * Several nodes can share one log. All guarantees hold across them, and what one node has acknowledged, every other one
 * reads.
 */
export interface EventLog {
  /**
   * The id of the node that opened the log, if several nodes can share it; each opening has its own. A claim writes it as
   * the owner of the run.
   */
  readonly node?: string;

  /** What an acknowledged append survives: nothing, a crash of the process, or also a power failure. */
  readonly durability: "memory" | "relaxed" | "full";

  /**
   * True when `tail` and `watch` wake after every append. Otherwise readers also look into the log from time to time, because a
   * wake may be lost between nodes.
   */
  readonly reliableTail: boolean;

  /**
   * True when successive texts share a row, those of several runs in a commit or those of a run, so that the texts of one more run
   * in a commit cost hardly anything.
   */
  readonly sharesRows?: boolean;

  /**
   * Claims a known or new run and fences its previous owner. Fails with `Owned`, and changes nothing, if the owner is one
   * of the nodes of `unlessOwnedBy`.
   */
  claim(runId: RunId, options?: ClaimOptions): Promise<Claim>;

  /**
   * Appends a batch at the cursor's head. Returns the cursor for the next append. An engine that needs no time may return
   * it without a promise; it never throws, but returns a rejected promise.
   */
  append(cursor: Cursor, batch: Batch): Cursor | Promise<Cursor>;

  /** Releases a claim; its cursor is invalid afterwards. The run has no owner then, unless it was claimed again. */
  release(cursor: Cursor): void;

  /**
   * Reads the events after a position, oldest first; an unknown run has none. An engine that has the answer in memory
   * may return it without a promise; it never throws.
   */
  read(runId: RunId, options: ReadOptions): Page | Promise<Page>;

  /**
   * Calls `wake` after something was appended to the run, until the returned function is called. A wake is a
   * hint: it may be late, repeated or unnecessary, or (unless `reliableTail`) not come at all, but it never
   * comes before the append can be read. It carries no data. An engine that several nodes share wakes within 5 s of an
   * append on another node, while it can be reached.
   */
  tail(runId: RunId, wake: () => void): () => void;

  /**
   * Calls `wake` with the id of a run after something was appended to it or it was removed, until the returned function
   * is called. A wake is a hint as for `tail`.
   */
  watch(wake: (runId: RunId) => void): () => void;

  /**
   * Finds a request, also one of a removed run, so that its id is never accepted as new. Each owner has its own ids: without
   * an owner it is that of `default`, otherwise that of the first other one, in alphabetical order, that has the id. An id
   * that the runtime has made is that of one request only.
   */
  lookup(requestId: RequestId, owner?: string): Promise<RequestEntry | undefined>;

  /** Lists the requests of a run, by default the one that was accepted last first. */
  requests(query: RequestQuery): Promise<readonly RequestEntry[]>;

  /**
   * Lists the requests of all runs: those of the most recently updated run first, and of a run the one that was accepted last
   * first. A run that is updated while the list is read moves to its start.
   */
  listRequests(query: RequestListQuery): Promise<RequestEntryPage>;

  /** Finds the row of a run; with an owner, only if it is its run. */
  run(runId: RunId, owner?: string): Promise<RunEntry | undefined>;

  /** Finds the run that has an alias. */
  find(alias: RunAlias): Promise<RunId | undefined>;

  /**
   * Whether a run, which need not exist, can take a name from another one. Absent if every run can: only in a log in several
   * databases a name does not leave its database.
   */
  isBeside?(runId: RunId, other: RunId): boolean;

  /** Lists runs, by default the most recently updated first. */
  list(query: RunEntryQuery): Promise<RunEntryPage>;

  /**
   * Lists the ids of all runs in the order of their first appends, in a log in several databases those of one after those of another;
   * or the ids of the removed runs in any order.
   */
  runIds(query: RunIdQuery): Promise<readonly RunId[]>;

  /** What a run has besides its row, events and requests; an unknown or removed run has nothing. */
  holdings(runId: RunId): Promise<Holdings>;

  /**
   * The approximate size of the log, or of the events and records of one run, in bytes. A removed run no
   * longer counts, even before its space is reused.
   */
  size(runId?: RunId): Promise<number>;

  /**
   * Lists the requests that have work to do without new input, oldest first; recovery continues them.
   * Parked requests (they wait for input or for something else from outside) are not included, nor those queued behind a
   * started request of their run.
   */
  open(query?: OwnerQuery): Promise<readonly RequestEntry[]>;

  /** Lists the requests with a wake time, by that time. */
  waking(query: WakeQuery): Promise<readonly RequestEntry[]>;

  /** Lists the requests that are parked on asks of other actors, at most one of each run, in a fixed order of the runs. */
  parked(query: ParkedQuery): Promise<readonly RequestEntry[]>;

  /** Lists the open waits for input, oldest first. */
  waits(query: WaitEntryQuery): Promise<WaitEntryPage>;

  /** Lists the entries of outboxes that are not done; those of a run in the order of their events, unless the query says another. */
  outbox(query: OutboxQuery): Promise<readonly OutboxEntry[]>;

  /** Lists the schedules of runs in a fixed order: those of a run by their ids. */
  schedules(query: ScheduleQuery): Promise<ScheduleEntryPage>;

  /** Lists the schedules with a time, by that time. */
  due(query: WakeQuery): Promise<readonly ScheduleEntry[]>;

  /** Finds the newest snapshot of a run; `undefined` when it has none. */
  snapshot(runId: RunId): Promise<Snapshot | undefined>;

  /** Which of these things outside the log no run refers to. */
  unreferenced(things: readonly string[]): Promise<readonly string[]>;

  /**
   * Removes a claimed run with all its content, except its id and the ids of its requests, which are never
   * used again: `run` and `lookup` then return them with `removed`. Returns the outside things that only
   * this run referred to.
   */
  remove(cursor: Cursor, options?: RemoveOptions): Promise<readonly string[]>;

  /**
   * Removes those of some runs, of which there can be hundreds, that are still as a list has shown them and that nothing needs. It needs no
   * claims; each run is removed as `remove` does, as a whole or not at all. A run is removed if it is idle, has an agent, is not claimed, and has
   *
   * - only requests that have ended, none of them a message (it ends with the event that it starts with), which a turn may still read;
   * - no alias, snapshot, schedule or reference, and nothing in its outbox.
   *
   * Returns the ids of the removed runs. The others stay as they are; an engine may leave more of them. To remove one of those needs its claim and `remove`.
   */
  removeIdle(runs: readonly SeenRun[]): Promise<readonly RunId[]>;

  /** Who did what. */
  readonly audit: AuditTrail;

  /** What was spent on completions. */
  readonly spending: Spending;

  /** What turns and completions have done and used, by the hour. */
  readonly statistics: Statistics;

  /**
   * Overwrites what removed runs have left behind; appends may wait meanwhile. Resolves when nothing of a run that was removed before the
   * call is in a file of the engine any more. An engine whose files belong to a database server does nothing: the server
   * overwrites deleted rows when it needs their space. Fails with `Unavailable` if that cannot be done now; nothing is lost, and the call can be repeated.
   */
  scrub(): Promise<void>;

  /**
   * Resolves when what an engine makes in the background is made, as the log is now: the index of the words of runs, and the sums of
   * the hours of statistics. It does so by itself; no question waits for it, but it is slower before.
   */
  indexed?(): Promise<void>;

  /** Whether the log accepts appends, and if not, why. */
  health(): LogHealth;

  /** What the engine has done for this process, for metrics. */
  figures?(): LogFigures;

  /** The table of the nodes that share the log. */
  nodes?(): NodeDirectory;

  /** The wakes between the nodes that share the log, which a router may carry. */
  wakes?(): LogWakes;

  /** Opens the artifact store that belongs to the log. A runtime uses it if it is given no other store. */
  artifacts?(): ArtifactStore;

  /** Opens the secret store that belongs to the log. A runtime uses it if it is given no other store. */
  secrets?(): SecretStore;

  /** Opens the store for versions of agents that belongs to the log. */
  versions?(): VersionStore;

  /** Closes the log after running appends have settled. */
  close(): Promise<void>;
}

/** The part of a log that a reader needs who follows nothing: for example one that replays it. */
export type LogReader = Pick<EventLog, "list" | "lookup" | "read" | "requests" | "run" | "snapshot">;

/** The right to append to a run at one position. An immutable value: use the newest one. */
export interface Cursor {
  readonly runId: RunId;
  /** Incremented by every claim. */
  readonly epoch: number;
  /** The id of the run's newest event; 0 if there is none. */
  readonly head: number;
  /** The number of records of the run. */
  readonly records: number;
  /** Private to the engine. */
  readonly token?: unknown;
}

/** The result of a claim. */
export interface Claim {
  readonly cursor: Cursor;
  /** The run's row as it is after the claim; absent if nothing was appended yet. */
  readonly run?: RunEntry;
  /** The newest snapshot. */
  readonly snapshot?: Snapshot;
}

/** A run as a list has shown it. */
export type SeenRun = Pick<RunEntry, "runId" | "head" | "updatedAt">;

/** How a run is removed. */
export interface RemoveOptions {
  /** Also removes what the audit trail has of it. Default false. */
  readonly erases?: boolean;
}

/** The names of a run, and what it refers to. */
export interface Holdings {
  /** In alphabetical order of the agents and names. */
  readonly aliases: readonly RunAlias[];
  /** The things outside the log that the run refers to, in alphabetical order. */
  readonly references: readonly string[];
}

/** A part of a run's log. */
export interface Page {
  /**
   * The events as they were appended, the first with the id `after + 1`; texts may be divided or joined. If the run begins later
   * than that, the page is the one behind its base.
   */
  readonly events: LoggedEvents;
  /** Empty unless requested. */
  readonly records: readonly LogRecord[];
  /** The id of the run's newest event at the time of reading. */
  readonly head: number;
  /**
   * True when the page ends before the last record that was asked for. The next page follows the last event and the
   * last record of this one.
   */
  readonly cut?: boolean;
  /** The base of the run, if the place that was asked for is before it. */
  readonly base?: Base;
}

/** The state of a log. */
export interface LogHealth {
  readonly writable: boolean;
  /** The reason, in a sentence without file paths. */
  readonly reason?: string;
  /** What can lose acknowledged events at present, each in a sentence that names the fix. */
  readonly warnings?: readonly string[];
  /** What else of it those who operate it should know, for example that its secrets get another key. */
  readonly parts?: readonly ReadinessPart[];
}

/** Counts since the log was opened. */
export interface LogFigures {
  /** Commits of the engine. */
  readonly commits: number;
  /** The appends that they committed or refused. */
  readonly appends: number;
  /** The events of these appends in bytes, if all their characters are ASCII. */
  readonly bytes: number;
  /** Statements that were sent again, after a lost connection for example. */
  readonly retries: number;
  /** Open connections for questions and appends. */
  readonly connections: number;
  /** Those that have a statement. */
  readonly busyConnections: number;
  /** Statements that wait for a connection. */
  readonly waitingStatements: number;
}

/** A cursor of an older claim was used: the run has another owner now. Nothing was appended. */
export class Fenced extends Error {
  override readonly name = "Fenced";
  /** Whether the log has lost acknowledged events of the run. */
  readonly hasLost: boolean;

  constructor(message: string, { hasLost = false }: { readonly hasLost?: boolean } = {}) {
    super(message);
    this.hasLost = hasLost;
  }
}

/** A claim was refused because a node owns the run that the caller does not want to take it from. Nothing was changed. */
export class Owned extends Error {
  override readonly name = "Owned";
  readonly owner: string;

  constructor(runId: RunId, owner: string) {
    super(`run ${runId} belongs to node ${owner}`);
    this.owner = owner;
  }
}

/** An append failed with an unknown outcome, or the log accepts no appends at present. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
