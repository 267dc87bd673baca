import type { Cursor, LogRecord, RequestMark, RunRow } from "../../ports/event-log.ts";
import { encodeEvent } from "../../protocol/encode.ts";
import type { Speaker } from "../../protocol/encode.ts";
import type { EventBody } from "../../protocol/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { RunContext } from "../run-context.ts";
import {
  addEvent,
  addRecord,
  committedOf,
  hasContent,
  newPending,
  notCommitted,
  rejectPending,
} from "./batch.ts";
import type { OpenBatch } from "./batch.ts";
import type { RecordBody } from "./records.ts";

/** What a recorder needs, and whom it tells. */
export interface RecorderOptions {
  readonly context: RunContext;
  readonly cursor: Cursor;
  /** Called with every event, before it is committed. */
  readonly recorded: (speaker: Speaker, text: string) => void;
  /** Called just before what has gathered is committed; may add to it. */
  readonly beforeCommit: () => void;
  /** Called after a commit that leaves nothing to be committed. */
  readonly settled: () => void;
  /** Called once when a commit fails; nothing is recorded afterwards. */
  readonly failed: (error: unknown) => void;
}

/** An event that was recorded: its place in the log, and the text that every reader will get. */
export interface Recorded {
  readonly id: number;
  readonly text: string;
}

/**
 * The one way into a run's log. Everything recorded while a commit is under way gathers and is
 * committed together by the next one; ids and bytes are made once, at the time of recording.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  #cursor: Cursor;
  #pending: OpenBatch = newPending();
  #nextId: number;
  #nextRecord: number;
  /** What the commit under way carries. */
  #inFlight: OpenBatch | undefined;
  /** When that commit began. */
  #startedMs = 0;
  #scheduled = false;
  #gathers = false;
  /** Makes the error for whoever still waits for a commit; `undefined` while commits are made. */
  #stopped: (() => unknown) | undefined;

  // Made once and not for every commit: there is one at a time, and what it leaves behind counts.
  readonly #commitNow = (): void => this.#commit();
  readonly #commitGathered = (): void => {
    this.#gathers = false;
    const mayCommit = this.#inFlight === undefined && this.#stopped === undefined;
    if (mayCommit && hasContent(this.#pending)) this.#commitSoon();
  };
  readonly #succeed = (cursor: Cursor): void => this.#committed(cursor);
  readonly #fail = (error: unknown): void => this.#notCommitted(error);

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#cursor = options.cursor;
    this.#nextId = options.cursor.head + 1;
    this.#nextRecord = options.cursor.records + 1;
  }

  /** The id of the newest event, committed or not. */
  get head(): number {
    return this.#nextId - 1;
  }

  /** How many records there are, committed or not. */
  get records(): number {
    return this.#nextRecord - 1;
  }

  /** The cursor of the newest commit. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  /** Whether everything recorded is committed. */
  get settled(): boolean {
    return this.#inFlight === undefined && !hasContent(this.#pending);
  }

  /** How many events and records wait for their commit. */
  get uncommitted(): number {
    return entriesOf(this.#pending) + (this.#inFlight === undefined ? 0 : entriesOf(this.#inFlight));
  }

  /** Records an event. Texts may wait for others to gather; every other event is committed as soon as can be. */
  event(speaker: Speaker, body: EventBody): Recorded {
    const id = this.#nextId;
    const text = encodeEvent(speaker, id, this.#options.context.timestamp(), body);
    this.#nextId = id + 1;
    if (body.type === "WaitForInput") this.#pending.patient ??= true;
    this.#push(text, body.type !== "TextOutput");
    this.#options.recorded(speaker, text);
    return { id, text };
  }

  /** Records an event that is encoded already, with the id that is next. */
  encoded(text: string): void {
    this.#nextId += 1;
    this.#push(text, true);
  }

  /** Records a journal entry after the newest event. */
  record(body: RecordBody): { readonly n: number; readonly after: number } {
    const position = { n: this.#nextRecord, after: this.#nextId - 1 };
    this.#nextRecord += 1;
    addRecord(this.#pending, { ...position, ...body } as unknown as LogRecord);
    this.#schedule(true);
    return position;
  }

  /** Changes a request's entry in the index, together with what else is in the next commit. */
  mark(mark: RequestMark): void {
    (this.#pending.requests ??= []).push(mark);
    this.#schedule(true);
  }

  /** Replaces the run's row in the next commit, and its snapshot by what it then is. */
  row(row: RunRow, toSnapshot?: () => Json): void {
    this.#pending.run = row;
    if (toSnapshot) this.#pending.toSnapshot = toSnapshot;
    this.#schedule(true);
  }

  /** Gives the run a name in the next commit. */
  alias(alias: string): void {
    this.#pending.alias = alias;
    this.#schedule(true);
  }

  /** Resolves when everything recorded so far is committed; rejects when that failed. */
  committed(): Promise<void> {
    if (this.#stopped !== undefined) return notCommitted(this.#stopped);
    const last = hasContent(this.#pending) ? this.#pending : this.#inFlight;
    return last === undefined ? RESOLVED : committedOf(last);
  }

  /** Takes no more; what was not committed is lost, and whoever waits for it gets the error. */
  stop(toError: () => unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = toError;
    rejectPending(this.#pending, toError);
  }

  #push(text: string, urgent: boolean): void {
    addEvent(this.#pending, text);
    this.#schedule(urgent);
  }

  #schedule(urgent: boolean): void {
    if (urgent) this.#pending.urgent = true;
    if (this.#scheduled || this.#inFlight !== undefined || this.#stopped !== undefined) return;
    const { groupCommit } = this.#options.context;
    if (this.#pending.urgent || groupCommit === undefined) {
      this.#commitSoon();
    } else if (!this.#gathers) {
      this.#gathers = true;
      groupCommit.wait(this.#commitGathered);
    }
  }

  #commitSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A microtask later, so that everything said in one go is one batch.
    void RESOLVED.then(this.#commitNow);
  }

  #commit(): void {
    if (this.#stopped !== undefined) return;
    if (this.#pending.patient === true) {
      this.#pending.patient = false;
      this.#options.context.environment.macrotask(this.#commitNow);
      return;
    }
    this.#options.beforeCommit();
    this.#scheduled = false;
    const pending = this.#pending;
    // Only now: it stands for all that is in the batch, also what came behind it.
    if (pending.toSnapshot) pending.snapshot = pending.toSnapshot();
    this.#pending = newPending();
    this.#inFlight = pending;
    const { log, environment } = this.#options.context;
    this.#startedMs = environment.monotonic();
    log.append(this.#cursor, pending).then(this.#succeed, this.#fail);
  }

  #committed(cursor: Cursor): void {
    const { context, settled } = this.#options;
    const { telemetry, environment } = context;
    const committed = this.#inFlight;
    this.#cursor = cursor;
    this.#inFlight = undefined;
    telemetry.committed(committed?.events.length ?? 0, environment.monotonic() - this.#startedMs);
    committed?.done?.resolve();
    if (hasContent(this.#pending)) this.#schedule(false);
    else settled();
  }

  #notCommitted(error: unknown): void {
    const failed = this.#inFlight;
    this.#inFlight = undefined;
    if (failed) rejectPending(failed, () => error);
    this.stop(() => error);
    this.#options.failed(error);
  }
}

const RESOLVED = Promise.resolve();

function entriesOf({ events, records }: OpenBatch): number {
  return events.length + records.length;
}
