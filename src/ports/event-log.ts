import type { LoggedEvents } from "../protocol/events/texts.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Usage } from "../protocol/events/events.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { LastTurn, RequestPhase, RunPhase, WaitingFor } from "../protocol/answers/status.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import type {
  ClaimOptions,
  OutboxQuery,
  OwnerQuery,
  ReadOptions,
  RequestQuery,
  RestingQuery,
  RunIdQuery,
  RunQuery,
  SleepQuery,
  WaitQuery,
} from "./log-queries.ts";
import type { NodeDirectory } from "./node-directory.ts";
import type { SecretStore } from "./secret-store.ts";

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
 * - `read` from any position returns the same events as any other `read`, live or later.
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

  /** Finds a request, also one of a removed run, so that its id is never accepted as new. */
  lookup(requestId: RequestId): Promise<RequestEntry | undefined>;

  /** Lists the requests of a run, by default the one that was accepted last first. */
  requests(query: RequestQuery): Promise<readonly RequestEntry[]>;

  /** Finds the row of a run. */
  run(runId: RunId): Promise<RunEntry | undefined>;

  /** Finds the run that has an alias. */
  find(alias: RunAlias): Promise<RunId | undefined>;

  /** Lists runs, by default the most recently updated first. */
  list(query: RunQuery): Promise<RunPage>;

  /** Lists the ids of all runs in the order of their first appends, or the ids of the removed runs in any order. */
  runIds(query: RunIdQuery): Promise<readonly RunId[]>;

  /** What a run has beside its row, events and requests; an unknown or removed run has nothing. */
  holdings(runId: RunId): Promise<Holdings>;

  /**
   * The approximate size of the log, or of the events and records of one run, in bytes. A removed run no
   * longer counts, even before its space is reused.
   */
  size(runId?: RunId): Promise<number>;

  /**
   * Lists the requests that have work to do without new input, oldest first; recovery continues them.
   * Requests at rest (they wait for input or for something else from outside) are not included, nor those queued behind a
   * started request of their run.
   */
  open(query?: OwnerQuery): Promise<readonly RequestEntry[]>;

  /** Lists the requests with a wake time, by that time. */
  asleep(query: SleepQuery): Promise<readonly RequestEntry[]>;

  /** Lists the requests that rest on asks of other actors, at most one of each run, in a fixed order of the runs. */
  resting(query: RestingQuery): Promise<readonly RequestEntry[]>;

  /** Lists the open waits for input, oldest first. */
  waits(query: WaitQuery): Promise<WaitPage>;

  /** Lists the entries of outboxes that are not done, those of a run in the order of their events. */
  outbox(query: OutboxQuery): Promise<readonly OutboxEntry[]>;

  /** Finds the newest snapshot of a run; `undefined` when it has none. */
  snapshot(runId: RunId): Promise<Snapshot | undefined>;

  /** Which of these things outside the log no run refers to. */
  unreferenced(things: readonly string[]): Promise<readonly string[]>;

  /**
   * Removes a claimed run with all its content, except its id and the ids of its requests, which are never
   * used again: `run` and `lookup` then return them with `removed`. Returns the outside things that only
   * this run referred to.
   */
  remove(cursor: Cursor): Promise<readonly string[]>;

  /** Whether the log accepts appends, and if not, why. */
  health(): LogHealth;

  /** What the engine has done for this process, for metrics. */
  figures?(): LogFigures;

  /** The table of the nodes that share the log. */
  nodes?(): NodeDirectory;

  /** Opens the artifact store that belongs to the log. A runtime uses it if it is given no other store. */
  artifacts?(): ArtifactStore;

  /** Opens the secret store that belongs to the log. A runtime uses it if it is given no other store. */
  secrets?(): SecretStore;

  /** Closes the log after running appends have settled. */
  close(): Promise<void>;
}

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

/** A state of the run that its owner stored, and the part of the log that it covers. */
export interface Snapshot {
  readonly head: number;
  readonly records: number;
  readonly data: Json;
}

/** A journal entry: part of a run's log like an event, but without an event id and never shown to clients. */
export interface LogRecord {
  /** 1, 2, 3 … in the run. */
  readonly n: number;
  /** The id of the preceding event, 0 before the first one. */
  readonly after: number;
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** What one append adds and changes, atomically. */
export interface Batch {
  /**
   * Encoded events, each a JSON object without a line break, and successive texts of one speaker; their ids continue
   * from the cursor's head. An engine may store texts as the events that `toEncoded` makes of them.
   */
  readonly events: LoggedEvents;
  /** Their numbers continue from the cursor's records; their `after` is between the old and the new head. */
  readonly records: readonly LogRecord[];
  /** Replaces the run's row. Required in a run's first batch. */
  readonly run?: RunRow;
  /** Changes of requests, oldest first. */
  readonly requests?: readonly RequestMark[];
  /** Changes of the run's references to things outside the log, oldest first. */
  readonly references?: readonly ReferenceMark[];
  /** A name of the run for `find`. The append fails with `conflict` if another run than `from` has the name. */
  readonly alias?: NewAlias;
  /** Waits of the run that open or close, oldest first. */
  readonly waits?: readonly WaitMark[];
  /** New entries of the run's outbox, and those that are done, oldest first. */
  readonly outbox?: readonly OutboxMark[];
  /** Replaces the snapshot; covers everything up to the end of this batch. */
  readonly snapshot?: Json;
}

/** The data of a run for the list of runs. */
export interface RunRow {
  readonly agent: string;
  readonly status: RunPhase;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly turns: number;
  readonly initialInput: Json;
  readonly metadata: JsonObject;
  /** The request whose turn has started and not ended. */
  readonly started?: RequestId;
  /** The newest turn. */
  readonly lastTurn?: LastTurn;
  /** The usage of all turns that have ended. */
  readonly usage?: Usage;
}

/** A run's row as stored. */
export interface RunEntry extends RunRow {
  readonly runId: RunId;
  readonly head: number;
  /** The name of its alias, if it has one; of several the first in alphabetical order. */
  readonly alias?: string;
  /** The number of its open waits; absent if it has none. */
  readonly openWaits?: number;
  /** The number of its queued requests; absent if it has none. */
  readonly queued?: number;
  /** When its started request at rest must continue, in milliseconds since 1970. */
  readonly wakeAt?: number;
  /** The node that claimed it last and has not released it. */
  readonly owner?: string;
  /** True for a run that was removed; the rest of the row is then empty. */
  readonly removed?: boolean;
}

/** A change of a request's entry. Absent fields stay unchanged. */
export interface RequestMark {
  readonly requestId: RequestId;
  readonly phase: RequestPhase;
  /** When the request was accepted, in milliseconds since 1970; only in its first mark. */
  readonly createdAt?: number;
  /** The record that accepted it; only in its first mark. */
  readonly accepted?: RecordPosition;
  /** The id of its RequestStarted. */
  readonly started?: number;
  /** The id of the event at which the current segment starts. */
  readonly segment?: number;
  /** The id of the newest event at completion: its RequestCompleted. */
  readonly completed?: number;
  /**
   * When a request at rest must continue, in milliseconds since 1970; 0 for no such time. A completed request has none.
   */
  readonly wakeAt?: number;
  /**
   * The asks of other actors that the request rests on, if it rests on nothing else; empty if it does not rest. A
   * completed request never rests.
   */
  readonly rests?: readonly RequestId[];
  /**
   * What a request at rest waits for, if it does not wait for input; `null` when it works again. A completed request
   * waits for nothing.
   */
  readonly waitingFor?: WaitingFor | null;
}

/** Opens or closes a wait for input. The end of a request closes all its waits. */
export interface WaitMark {
  /** The id of its WaitForInput. */
  readonly waitId: number;
  readonly requestId: RequestId;
  /** When it was opened, in milliseconds since 1970. */
  readonly openedAt: number;
  /** True if it closes. */
  readonly closed?: boolean;
}

/** An open wait for input. */
export interface WaitEntry extends Omit<WaitMark, "closed"> {
  readonly runId: RunId;
}

/** A part of the list of open waits. */
export interface WaitPage {
  readonly waits: readonly WaitEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Adds an entry to a run's outbox: a message to another actor that is sent again until it has arrived. */
export interface OutboxMark {
  /** The request that the message is about. */
  readonly requestId: RequestId;
  /** `reply`: the request has ended; `cancel`: its sender no longer wants it. */
  readonly kind: OutboxKind;
  /** The id of the event that the message is made from: RequestCompleted or ToolCall. */
  readonly event: number;
  /** True if the message has arrived; the entry is then removed. */
  readonly done?: boolean;
}

export type OutboxKind = "reply" | "cancel";

/** An entry of an outbox that is not done. */
export interface OutboxEntry extends Omit<OutboxMark, "done"> {
  /** The run that sends the message. */
  readonly runId: RunId;
}

/** A name that a client gives to a run. Each agent has its own aliases. */
export interface RunAlias {
  readonly agent: string;
  readonly name: string;
}

/** The names of a run, and what it refers to. */
export interface Holdings {
  /** In alphabetical order of the agents and names. */
  readonly aliases: readonly RunAlias[];
  /** The things outside the log that the run refers to, in alphabetical order. */
  readonly references: readonly string[];
}

/** A name that an append gives to its run. */
export interface NewAlias extends RunAlias {
  /** The run that loses the name to this one. The append fails with `conflict` if neither of them has it. */
  readonly from?: RunId;
}

/**
 * Adds or drops a run's reference to something stored outside the log. The log counts references, so that
 * the thing can be removed when no run needs it.
 */
export interface ReferenceMark {
  readonly thing: string;
  /** True if the reference is dropped. */
  readonly dropped?: boolean;
}

/** The position of a record. */
export interface RecordPosition {
  readonly n: number;
  readonly after: number;
}

/** The entry of a request in the index. */
export interface RequestEntry {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly phase: RequestPhase;
  readonly createdAt: number;
  readonly accepted: RecordPosition;
  readonly started?: number;
  readonly segment?: number;
  readonly completed?: number;
  /** The wake time; absent if it has none. */
  readonly wakeAt?: number;
  /** The asks that it rests on; absent if it does not rest. */
  readonly rests?: readonly RequestId[];
  /** What it waits for; absent unless it is at rest without a wait for input. */
  readonly waitingFor?: WaitingFor;
  /** True if the run was removed; then only the ids and the phase `completed` are set. */
  readonly removed?: boolean;
}

/** A part of a run's log. */
export interface Page {
  /** The events as they were appended, the first with the id `after + 1`; texts may be divided or joined. */
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
}

/** A part of the list of runs. */
export interface RunPage {
  readonly runs: readonly RunEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of selected runs, if it was asked for. */
  readonly total?: number;
}

/** The state of a log. */
export interface LogHealth {
  readonly writable: boolean;
  /** The reason, in a sentence without file paths. */
  readonly reason?: string;
  /** What can lose acknowledged events at present, each in a sentence that names the fix. */
  readonly warnings?: readonly string[];
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
}

/** A cursor of an older claim was used: the run has another owner now. Nothing was appended. */
export class Fenced extends Error {
  override readonly name = "Fenced";
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
