import type { AuditAction, AuditMark } from "../../ports/audit.ts";
import type { Cursor } from "../../ports/event-log.ts";
import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { SpentMark } from "../../ports/spending.ts";
import type { StatisticsEntry } from "../../ports/statistics.ts";
import type {
  Base,
  LogRecord,
  NewAlias,
  OutboxMark,
  ScheduleMark,
  ReferenceMark,
  RequestMark,
  RunRow,
  WaitMark,
} from "../../ports/log-batch.ts";
import { encodeEvent, encodeText, toEnding, toTimestamp } from "../../protocol/events/encode.ts";
import type { Speaker, TextFields } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import { secretNamesIn } from "../secrets/config-secrets.ts";
import type { By } from "../../protocol/actors.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { RunContext } from "../run-context.ts";
import { addEvent, addRecord, appendText, newPending, notCommitted, rejectPending } from "./batch.ts";
import type { OpenBatch } from "./batch.ts";
import type { RecordBody } from "./records.ts";
import { noteEvent, noteRecord } from "./progress.ts";
import type { Progress } from "./progress.ts";

/** The owner of a recorder. */
export interface RecorderListener {
  /** Called just before a batch is committed, if the recorder is watched; may add to the batch. */
  beforeCommit(): void;
  /** Called after a commit that leaves nothing to commit, if the recorder is watched, and by `checkFlushed`. */
  flushed(): void;
  /** Called after the commit of new entries of the run's outbox. */
  posted(marks: readonly OutboxMark[]): void;
  /** Called once, when a commit fails; nothing is recorded afterwards. */
  failed(error: unknown): void;
}

/** Receives every event when it is recorded, before it is committed. */
export interface EventSubscriber {
  recorded(speaker: Speaker, text: string): void;
}

/** A recorded event: its id and the text that every reader will get. */
export interface RecordedEvent {
  readonly id: number;
  readonly text: string;
}

/**
 * The only writer of a run's log. Everything recorded during a commit is committed together by the next one.
 * Ids and bytes are created once, when an event is recorded.
 */
export class Recorder {
  /** Set while the code of a turn iterates the events of its calls. */
  subscriber: EventSubscriber | undefined;
  /**
   * Whether the listener is called at each commit. False while a turn runs that has not waited, slept or replayed:
   * its commits change only the log.
   */
  watched = true;
  readonly #context: RunContext;
  readonly #listener: RecorderListener;
  #cursor: Cursor;
  /** The batch that collects the entries for the next commit; created with its first entry. */
  #pending: OpenBatch | undefined;
  #nextId: number;
  #nextRecord: number;
  /** The progress that is watched for, if any. */
  #progress: Progress | undefined;
  /** The batch that is being committed. */
  #inFlight: OpenBatch | undefined;
  /** The number of commits that were begun, and of the newest one that succeeded. */
  #commits = 0;
  #succeeded = 0;
  /** When the newest commit was begun, in milliseconds of `monotonic`. */
  #startedMs = 0;
  /** Whether a commit of the pending batch is about to start. */
  #scheduled = false;
  /** Whether nothing is committed at present. */
  #isPaused = false;
  /** Whether the pending texts wait for the group commit. */
  #gathers = false;
  /** The type of the newest event, if it is a type whose events are gathered. */
  #said: SaidType | undefined;
  /** When the newest event that is gathered was recorded, in milliseconds since 1970. */
  #saidAt = -Infinity;
  /** The secrets that the run holds in memory. */
  #secrets: string[] | undefined;
  /** Creates the error for callers that wait for a commit; `undefined` until the recorder stops. */
  #stopped: (() => unknown) | undefined;

  // Created once, because a new function per commit would be garbage.
  readonly #commitNow = (): void => this.#commit();
  readonly #commitGathered = (): void => {
    this.#gathers = false;
    if (this.#inFlight !== undefined || this.#scheduled || this.#isPaused) return;
    if (this.#pending === undefined || this.#pending.window !== undefined) return;
    // What the listener adds before the commit joins it, instead of starting another one.
    this.#scheduled = true;
    this.#commit();
  };
  readonly #succeed = (cursor: Cursor): void => this.#committed(cursor);
  readonly #fail = (error: unknown): void => this.#notCommitted(error);

  constructor(context: RunContext, cursor: Cursor, listener: RecorderListener) {
    this.#context = context;
    this.#listener = listener;
    this.#cursor = cursor;
    this.#nextId = cursor.head + 1;
    this.#nextRecord = cursor.records + 1;
  }

  /** The id of the newest event, committed or not. */
  get head(): number {
    return this.#nextId - 1;
  }

  /** The number of records, committed or not. */
  get records(): number {
    return this.#nextRecord - 1;
  }

  /** The cursor of the newest commit. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  /** A position in the order of commits; `provesOwner` tells whether one that was begun after it has succeeded. */
  get commits(): number {
    return this.#commits;
  }

  /** Whether this run has been written to since a position, which only its owner can do. */
  provesOwner(since: number): boolean {
    return this.#succeeded > since;
  }

  /** Whether everything recorded is committed. */
  get isFlushed(): boolean {
    return this.#inFlight === undefined && this.#pending === undefined;
  }

  /** The secrets that the run holds in memory, one time each. */
  get secrets(): readonly string[] {
    return this.#secrets ?? NO_SECRETS;
  }

  /** Watches for the progress of the turn of a request. */
  watchProgress(requestId: RequestId): Progress {
    this.#progress = { requestId, isMade: false };
    return this.#progress;
  }

  /** The number of events and records that are not committed yet. */
  get uncommitted(): number {
    return this.head - this.#cursor.head + this.records - this.#cursor.records;
  }

  /** Records a text, which may wait for the group commit, and for texts that follow. Returns its id. */
  text(speaker: Speaker, content: string, fields?: TextFields): number {
    const id = this.#nextId;
    const at = this.#context.environment.now();
    const ending = fields === undefined ? "" : toEnding(fields);
    this.#nextId = id + 1;
    this.#gather("TextOutput", at, content.length);
    appendText(this.#batch, id, at, { speaker, ending, content });
    if (this.#progress !== undefined) noteEvent(this.#progress, speaker);
    this.#schedule(false);
    const { subscriber } = this;
    if (subscriber) subscriber.recorded(speaker, encodeText(speaker, id, toTimestamp(at), content, ending));
    return id;
  }

  /** Records an event. All are committed at once, except those that a model or a tool says piece by piece like texts. */
  event(speaker: Speaker, body: EventBody): RecordedEvent {
    const id = this.#nextId;
    const at = this.#context.environment.now();
    const text = encodeEvent(speaker, id, toTimestamp(at), body);
    this.#nextId = id + 1;
    if (body.type === "WaitForInput") this.#batch.patient ??= true;
    if (this.#progress !== undefined) noteEvent(this.#progress, speaker, body);
    const isSaid = body.type === "ReasoningOutput" || body.type === "ToolTextOutput";
    if (isSaid) this.#gather(body.type, at, text.length);
    else this.#interrupt();
    addEvent(this.#batch, text);
    const action = AUDITED[body.type];
    if (action !== undefined) this.#auditEvent(action, speaker, id, body);
    this.#schedule(this.#pending?.window === undefined);
    this.subscriber?.recorded(speaker, text);
    return { id, text };
  }

  /** Records an already encoded event with the next id. */
  encoded(text: string): void {
    this.#nextId += 1;
    this.#interrupt();
    addEvent(this.#batch, text);
    this.#schedule(true);
  }

  /** Records a journal entry after the newest event; the run refers to the secrets that it names. */
  record(body: RecordBody): { readonly n: number; readonly after: number } {
    const position = { n: this.#nextRecord, after: this.#nextId - 1 };
    this.#nextRecord += 1;
    if (this.#progress !== undefined) noteRecord(this.#progress, body);
    addRecord(this.#batch, { ...position, ...body } as unknown as LogRecord);
    const isConfig = body.type === "ConfigRecorded" || body.type === "Configured";
    const secrets = isConfig && body.args !== undefined ? secretNamesIn(body.args) : NO_SECRETS;
    if (secrets.length > 0) {
      this.held(secrets);
      // The values are in memory already, for the agent or for the message with the configuration, so this cannot fail.
      this.#context.secrets.hold(secrets).catch(() => {});
      this.#refer(secrets.map((thing) => ({ thing })));
      this.#context.secrets.referring(this.committed());
    }
    this.#schedule(true);
    return position;
  }

  /** Notes secrets that are held for the run. */
  held(secrets: readonly string[]): void {
    if (secrets.length > 0) (this.#secrets ??= []).push(...secrets);
  }

  /** Drops the run's references to secrets. */
  drop(secrets: readonly string[]): void {
    if (secrets.length > 0) this.#refer(secrets.map((thing) => ({ thing, dropped: true })));
  }

  /** Changes a request's entry in the index with the next commit. */
  mark(mark: RequestMark): void {
    (this.#batch.requests ??= []).push(mark);
    this.#schedule(true);
  }

  /** Replaces the run's row with the next commit, and its snapshot by the state at that time. */
  row(row: RunRow, toSnapshot?: () => Json): void {
    this.#batch.run = row;
    if (toSnapshot) this.#batch.toSnapshot = toSnapshot;
    this.#schedule(true);
  }

  /** Has the log of the run begin behind a place with the next commit; one that it has not reached moves it there. */
  base(base: Base): void {
    this.#batch.base = base;
    this.#nextId = Math.max(this.#nextId, base.head + 1);
    this.#schedule(true);
  }

  /** Gives the run an alias with the next commit. */
  alias(alias: NewAlias): void {
    this.#batch.alias = alias;
    this.#schedule(true);
  }

  /** Opens or closes a wait in the index with the next commit. */
  wait(mark: WaitMark): void {
    (this.#batch.waits ??= []).push(mark);
    this.#schedule(true);
  }

  /** Notes in the audit trail what a principal has done, with the next commit. Without a principal there is nothing to note. */
  audit(action: AuditAction, by: By | undefined, more: Omit<AuditMark, "action" | "at" | "by"> = {}): void {
    if (by === undefined) return;
    (this.#batch.audit ??= []).push({ at: this.#context.environment.now(), action, by, ...more });
    this.#schedule(true);
  }

  /** Adds to what the owner of the run, or one of its agents, has spent on a day, or may spend, with the next commit. */
  spend(mark: Pick<SpentMark, "day" | "agent"> & Partial<SpentMark>): void {
    (this.#batch.spent ??= []).push({ ...NOTHING_SPENT, ...mark });
    this.#schedule(true);
  }

  /** Counts a turn or a completion that ends, with the next commit. */
  count(ended: StatisticsEntry): void {
    (this.#batch.statistics ??= []).push(ended);
    this.#schedule(true);
  }

  /** Adds an entry to the run's outbox with the next commit, or removes one that is done. */
  outbox(mark: OutboxMark): void {
    (this.#batch.outbox ??= []).push(mark);
    this.#schedule(true);
  }

  /** Makes, changes or removes a schedule of the run with the next commit. */
  scheduleRow(mark: ScheduleMark): void {
    (this.#batch.schedules ??= []).push(mark);
    this.#schedule(true);
  }

  /**
   * Resolves when everything recorded so far is committed; rejects when that failed. Texts that gather do not wait longer
   * then.
   */
  committed(): Promise<void> {
    if (this.#stopped !== undefined) return notCommitted(this.#stopped);
    const last = this.#pending ?? this.#inFlight;
    if (last?.window !== undefined) {
      this.#dropWindow(last);
      this.#schedule(false);
    }
    return last === undefined ? RESOLVED : (last.done ??= Promise.withResolvers<void>()).promise;
  }

  /**
   * Resolves when another text may be recorded: at once while texts gather, otherwise when everything recorded so far is
   * committed. Rejects when that failed.
   */
  room(): Promise<void> {
    const gathers = this.#pending?.window !== undefined && this.#stopped === undefined;
    return gathers ? RESOLVED : this.committed();
  }

  /** Calls the listener as after a commit, if there is nothing to commit: a change that is not recorded may matter to it. */
  checkFlushed(): void {
    if (this.watched && this.isFlushed && this.#stopped === undefined) this.#listener.flushed();
  }

  /** Whether nothing is committed until `resume`. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Commits nothing more until `resume`: code that replays a log must have no effect before its replay is over. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Commits again, with what was recorded during the pause. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#pending !== undefined) this.#schedule(false);
  }

  /** Stops commits. Uncommitted entries are lost, and callers that wait for them get the error. */
  stop(toError: () => unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = toError;
    if (this.#pending) rejectPending(this.#pending, toError);
  }

  get #batch(): OpenBatch {
    return (this.#pending ??= newPending());
  }

  #auditEvent(action: AuditAction, { address }: Speaker, event: number, body: EventBody): void {
    const { by, message_id: messageId, name } = body as Audited;
    if (by === undefined) return;
    const requestId = messageId ?? address.request_id;
    this.audit(action, by, {
      event,
      ...(requestId !== null && { requestId }),
      ...(action === "message" && name !== undefined && { detail: name }),
    });
  }

  #refer(references: readonly ReferenceMark[]): void {
    (this.#batch.references ??= []).push(...references);
    this.#schedule(true);
  }

  /** Opens a window for an event that follows another one of its kind, and closes it when enough has gathered. */
  #gather(type: SaidType, at: number, characters: number): void {
    const { textWindow } = this.#context;
    const gathers = textWindow.gathers(at, this.#saidAt) && this.#said === type;
    this.#said = type;
    this.#saidAt = at;
    const isFirst = this.#pending === undefined;
    const pending = this.#batch;
    pending.gathered += characters + TEXT_CHARACTERS;
    if (gathers && isFirst) pending.window = textWindow.open(at, () => this.#closed(pending));
    else if (pending.window === undefined) return;
    else if (pending.gathered >= GATHERED_CHARACTERS || textWindow.take(pending.window, at))
      this.#dropWindow(pending);
  }

  /**
   * Called for an event that is not gathered: the gathered texts are committed with it, and the next text does not
   * wait.
   */
  #interrupt(): void {
    this.#said = undefined;
    if (this.#pending !== undefined) this.#dropWindow(this.#pending);
  }

  /** Closes the window of a batch, so that its texts wait no longer. */
  #dropWindow(batch: OpenBatch): void {
    if (batch.window === undefined) return;
    this.#context.textWindow.drop(batch.window);
    batch.window = undefined;
  }

  /** The window of a batch is over. */
  #closed(batch: OpenBatch): void {
    batch.window = undefined;
    if (batch === this.#pending) this.#schedule(false);
  }

  #schedule(urgent: boolean): void {
    const pending = this.#batch;
    if (urgent) {
      pending.urgent = true;
      this.#dropWindow(pending);
    }
    if (pending.window !== undefined) return;
    if (this.#scheduled || this.#isPaused || this.#inFlight !== undefined || this.#stopped !== undefined)
      return;
    if (pending.urgent) {
      this.#commitSoon();
    } else if (!this.#gathers) {
      this.#gathers = true;
      this.#context.groupCommit.wait(this.#commitGathered);
    }
  }

  #commitSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A microtask later, so that everything recorded at once is one batch.
    void RESOLVED.then(this.#commitNow);
  }

  #commit(): void {
    if (this.#stopped !== undefined) return;
    if (this.#isPaused) {
      this.#scheduled = false;
      return;
    }
    const pending = this.#batch;
    const { log, environment } = this.#context;
    if (pending.patient === true) {
      pending.patient = false;
      environment.macrotask(this.#commitNow);
      return;
    }
    if (this.watched) this.#listener.beforeCommit();
    this.#scheduled = false;
    // The snapshot covers the whole batch, so it is created when the batch is complete.
    if (pending.toSnapshot) pending.snapshot = pending.toSnapshot();
    this.#context.textWindow.join();
    this.#pending = undefined;
    this.#inFlight = pending;
    this.#commits += 1;
    this.#startedMs = environment.monotonic();
    const appended = log.append(this.#cursor, pending);
    if (appended instanceof Promise) appended.then(this.#succeed, this.#fail);
    else this.#committed(appended);
  }

  #committed(cursor: Cursor): void {
    const { telemetry, environment } = this.#context;
    const committed = this.#inFlight;
    const events = cursor.head - this.#cursor.head;
    this.#cursor = cursor;
    this.#succeeded = this.#commits;
    this.#inFlight = undefined;
    telemetry.committed(events, environment.monotonic() - this.#startedMs);
    committed?.done?.resolve();
    if (committed?.outbox) this.#listener.posted(committed.outbox);
    if (this.#pending !== undefined) this.#schedule(false);
    else if (this.watched) this.#listener.flushed();
  }

  #notCommitted(error: unknown): void {
    const failed = this.#inFlight;
    this.#inFlight = undefined;
    if (failed) rejectPending(failed, () => error);
    this.stop(() => error);
    this.#listener.failed(error);
  }
}

/** The events that come in many pieces, at the pace of a model. */
type SaidType = "ReasoningOutput" | "TextOutput" | "ToolTextOutput";

/** The events that a principal causes, and what they are. That a request was accepted is a record (`RunLedger.accept`). */
const AUDITED: { readonly [type in EventBody["type"]]?: AuditAction } = {
  ResumeWithInput: "answer",
  CancelRequest: "cancel",
  MessageReceived: "message",
  RunCreated: "create",
  RequestCompleted: "end",
  ActorResumed: "resume",
};

interface Audited {
  readonly by?: By;
  readonly message_id?: RequestId;
  readonly name?: string;
}

const RESOLVED = Promise.resolve();

const NO_SECRETS: readonly string[] = [];

/** How much gathers at most, in characters: the most that SQLite puts into a row that many runs share. */
const GATHERED_CHARACTERS = 4_096;

/**
 * What each text counts in addition to its content, so that many short texts stay far below the limit of uncommitted
 * texts.
 */
const TEXT_CHARACTERS = 32;
