import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RequestPhase, RunPhase } from "../protocol/status.ts";

/**
 * The durable log of all runs: the truth that everything else is read from.
 *
 * A run's log is one sequence of events, numbered 1, 2, 3 … by their position, with journal records
 * between them. Its owner claims the run, then appends batches one after the other; an owner never
 * has two appends of one run in flight. Readers need no claim.
 *
 * Promises of every engine, checked by `testEventLog`:
 * - An append is all or nothing, at exactly the head of its cursor. What it acknowledged is durable
 *   to the engine's stated degree and is read back, unchanged, for as long as the run exists.
 * - A claim fences every older cursor of that run: a later append by one fails with `Fenced` and
 *   changes nothing.
 * - An append that fails with `Unavailable` has an unknown outcome. The engine then refuses further
 *   appends (`health().writable` is false) until it is opened again or says that it has recovered;
 *   the caller settles the outcome by claiming and reading. Reads go on.
 * - `read` from any position gives the same events as any other `read`, live or later.
 */
export interface EventLog {
  /** What an acknowledged append survives: nothing, a crash of the process, or also a loss of power. */
  readonly durability: "memory" | "relaxed" | "full";

  /** Takes a run, known or new, and fences whoever had it before. */
  claim(runId: RunId): Promise<Claim>;

  /** Appends a batch at the cursor's head; the answer is the cursor for the next append. */
  append(cursor: Cursor, batch: Batch): Promise<Cursor>;

  /** Gives a claim back; its cursor is dead afterwards. */
  release(cursor: Cursor): void;

  /** Reads what follows a position, oldest first; an unknown run has nothing. */
  read(runId: RunId, options: ReadOptions): Promise<Page>;

  /**
   * Calls `wake` some time after something was appended to the run, until the answer is called.
   * A hint: it may come late, twice, for nothing, or (between nodes) not at all, but never before
   * the append can be read. It carries no data.
   */
  tail(runId: RunId, wake: () => void): () => void;

  /** Finds a request, one of a removed run too, so that its id is never taken for a new one. */
  lookup(requestId: RequestId): Promise<RequestEntry | undefined>;

  /** Finds the row of a run. */
  run(runId: RunId): Promise<RunEntry | undefined>;

  /** Finds the run that was created with an alias. */
  find(alias: string): Promise<RunId | undefined>;

  /** Lists runs, most recently updated first unless asked otherwise. */
  list(query: RunQuery): Promise<RunPage>;

  /**
   * How many bytes the log takes, or the events and records of one run. About so: a removed run counts
   * no more, whenever its space is used again.
   */
  size(runId?: RunId): Promise<number>;

  /**
   * Lists the requests that have something to do although nobody asks, oldest first: what a recovery has
   * to look after. Those that wait for input or sleep are not among them, nor those queued behind
   * another one of their run that has started.
   */
  open(): Promise<readonly RequestEntry[]>;

  /** Lists the requests that sleep, the one that wakes first first. */
  asleep(query: SleepQuery): Promise<readonly RequestEntry[]>;

  /** Which of these things outside the log no run refers to. */
  unreferenced(things: readonly string[]): Promise<readonly string[]>;

  /**
   * Removes a claimed run with everything in it but its id and those of its requests, which are never
   * used again: `run` and `lookup` then answer with `removed` for them. The answer: the things outside
   * the log that the run referred to and no other run refers to.
   */
  remove(cursor: Cursor): Promise<readonly string[]>;

  /** Whether the log takes appends, and if not, why. */
  health(): LogHealth;

  /** Ends all work; appends under way are settled first. */
  close(): Promise<void>;
}

/** The right to append to a run at one place. A value: keep the newest, throw the older ones away. */
export interface Cursor {
  readonly runId: RunId;
  /** Raised by every claim. */
  readonly epoch: number;
  /** The id of the run's newest event, 0 for none. */
  readonly head: number;
  /** How many records the run has. */
  readonly records: number;
  /** The engine's own. */
  readonly token?: unknown;
}

/** What a claim finds. */
export interface Claim {
  readonly cursor: Cursor;
  /** The run's row; absent for a run that nothing was appended to yet. */
  readonly run?: RunEntry;
  /** The newest snapshot. */
  readonly snapshot?: Snapshot;
}

/** What its owner last wrote down of a run's state, and which part of the log it covers. */
export interface Snapshot {
  readonly head: number;
  readonly records: number;
  readonly data: Json;
}

/** A journal entry: part of a run's log like an event, but without an event id and never shown to clients. */
export interface LogRecord {
  /** 1, 2, 3 … in the run. */
  readonly n: number;
  /** The id of the event it follows, 0 at the beginning. */
  readonly after: number;
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** What one append adds and changes, together or not at all. */
export interface Batch {
  /** Encoded events, one JSON object each without a line break; their ids go on from the cursor's head. */
  readonly events: readonly string[];
  /** Their numbers go on from the cursor's records, their `after` is between the old and the new head. */
  readonly records: readonly LogRecord[];
  /** Replaces the run's row. Always given with a run's first batch. */
  readonly run?: RunRow;
  /** Changes of requests, oldest first. */
  readonly requests?: readonly RequestMark[];
  /** Changes of what the run refers to outside the log, oldest first. */
  readonly references?: readonly ReferenceMark[];
  /** Names the run, for `find`. The append fails with `conflict` if another run has the name. */
  readonly alias?: string;
  /** Replaces the snapshot; covers everything up to the end of this batch. */
  readonly snapshot?: Json;
}

/** What the list of runs shows of a run. */
export interface RunRow {
  readonly agent: string;
  readonly status: RunPhase;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly turns: number;
  readonly initialInput: Json;
  readonly metadata: JsonObject;
}

/** A run's row as it is found. */
export interface RunEntry extends RunRow {
  readonly runId: RunId;
  readonly head: number;
  /** True for a run that was removed; the rest of the row is then empty. */
  readonly removed?: boolean;
}

/** One step in the life of a request. Fields that are absent stay as they were. */
export interface RequestMark {
  readonly requestId: RequestId;
  readonly phase: RequestPhase;
  /** When the request was accepted, in milliseconds since 1970; given once, with its first mark. */
  readonly createdAt?: number;
  /** The record that accepted it; given once, with its first mark. */
  readonly accepted?: RecordPosition;
  /** The id of its RequestStarted. */
  readonly started?: number;
  /** The id of the event at which the current segment starts. */
  readonly segment?: number;
  /** The id of its newest event when it completed: its RequestCompleted. */
  readonly completed?: number;
  /**
   * Until when nothing goes on in it unless somebody asks, in milliseconds since 1970; 0 when it does not
   * sleep, as a request that has completed never does.
   */
  readonly wakeAt?: number;
}

/**
 * A run begins or stops to refer to something that is stored outside the log. The log counts these
 * references, so that the thing can be removed when no run needs it any more.
 */
export interface ReferenceMark {
  readonly thing: string;
  /** True when the run refers to it no longer. */
  readonly dropped?: boolean;
}

/** Where a record stands. */
export interface RecordPosition {
  readonly n: number;
  readonly after: number;
}

/** What the index of requests knows of a request. */
export interface RequestEntry {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly phase: RequestPhase;
  readonly createdAt: number;
  readonly accepted: RecordPosition;
  readonly started?: number;
  readonly segment?: number;
  readonly completed?: number;
  /** Until when it sleeps; absent when it does not. */
  readonly wakeAt?: number;
  /** True for a request of a run that was removed; the rest of the entry but its ids is then empty, its phase `completed`. */
  readonly removed?: boolean;
}

/** Which of the requests that sleep to list. */
export interface SleepQuery {
  /** Only those that sleep longer than until this time, in milliseconds since 1970. */
  readonly after?: number;
  /** Only those that sleep until this time at most. */
  readonly notAfter?: number;
  /** At most so many; no limit by default. */
  readonly limit?: number;
}

/** Which part of a run's log to read. */
export interface ReadOptions {
  /** Events with a greater id. */
  readonly after: number;
  /** At most so many events; no limit of its own by default. */
  readonly limit?: number;
  /** Stops after so many bytes of events, though never before the first one. */
  readonly limitBytes?: number;
  /** Also the records from `after` to the last event of the page, both included. Default false. */
  readonly records?: boolean;
}

/** A part of a run's log. */
export interface Page {
  /** Encoded events as they were appended, the first with the id `after + 1`. */
  readonly events: readonly string[];
  /** Empty unless asked for. */
  readonly records: readonly LogRecord[];
  /** The id of the run's newest event at the time of reading. */
  readonly head: number;
}

/** Which runs to list. */
export interface RunQuery {
  readonly agent?: string;
  readonly status?: RunPhase;
  /** Begins with the run that has not been updated for the longest time. */
  readonly oldestFirst?: boolean;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

/** A part of the list of runs. */
export interface RunPage {
  readonly runs: readonly RunEntry[];
  /** Where the list goes on; absent at its end. */
  readonly next?: string;
}

/** The state of a log. */
export interface LogHealth {
  readonly writable: boolean;
  /** Why not, in a sentence without paths. */
  readonly reason?: string;
}

/** An older claim's cursor was used: someone else owns the run now. Nothing was appended. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

/** An append failed and its outcome is unknown, or the log takes no appends at present. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
