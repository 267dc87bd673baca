import { AgentError } from "../../errors.ts";
import { checkReadable } from "../../ports/encryption.ts";
import type { Claim, EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, Snapshot } from "../../ports/log-entries.ts";
import type { RecordPosition } from "../../ports/log-batch.ts";
import { requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import { countTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { rootOf } from "../journal/call-id.ts";
import { toHeading, withEvent, withProgress, withRecord } from "./heading.ts";
import { readRecord, toBeginning } from "./beginning.ts";
import { forEachEntry } from "./entries.ts";
import type { PlacedRecord, Range, Visitor } from "./entries.ts";
import { JournalBuilder } from "./journal-builder.ts";
import type { KeptJournal } from "./kept-journal.ts";
import { MessageBodies } from "./message-bodies.ts";
import { fromSnapshot, initialRunState, startedOf } from "./run-state.ts";
import type { OpenRequest, RunState } from "./run-state.ts";
import type { TurnJournal } from "./turn-journal.ts";

/** A turn that is only in the log. */
export interface PassivatedTurn {
  readonly journal: TurnJournal;
  /** Whether it only waits for its caller, so that nothing happens until an answer arrives. */
  readonly waiting: boolean;
  /** Its wake time and what it waits for in the index, if it was passivated while parked. */
  readonly entry: Pick<RequestEntry, "wakeAt" | "waitingFor" | "parkedOn">;
}

/** The stored state of a run, and its running turn. */
export interface LoadedRun {
  readonly state: RunState;
  /** The bodies of its unread messages, in their order. */
  readonly bodies: readonly Json[];
  readonly passivated?: PassivatedTurn;
}

/** Loads a claimed run, with its turn if one is open; throws `gone` if it was removed. */
export async function loadRun(log: EventLog, { cursor, run, snapshot }: Claim): Promise<LoadedRun> {
  const { runId } = cursor;
  if (run === undefined) return { state: initialRunState, bodies: [] };
  if (run.removed === true) throw new AgentError("gone", `run ${runId} was removed`);
  checkReadable(runId, snapshot?.data);
  const loading = new RunLoader(snapshot);
  const before = startedOf(loading.state);
  const base = before && (await readBase(log, runId, before));
  if (before && base) loading.continue(before, base);
  await forEachEntry(log, runId, loading.range, loading);
  const { state, journal } = loading;
  const bodies = await loading.unreadBodies(log, runId);
  const open = startedOf(state);
  if (open === undefined || journal === undefined) return { state, bodies };
  const entry = (await log.lookup(open.accepted.requestId, ownerOf(run))) ?? {};
  return { state, bodies, passivated: { journal, waiting: run.status === "waiting", entry } };
}

/** A place from which the journal of a turn is read, and what is needed of the turn before it. */
interface ReadBase {
  readonly at: RecordPosition;
  readonly kept?: KeptJournal;
}

/** Finds the place from which the journal of a turn is read. */
async function readBase(
  log: EventLog,
  runId: RunId,
  { accepted, base }: OpenRequest,
): Promise<ReadBase | undefined> {
  if (base && base.kept === undefined) return { at: base.at };
  const record = base?.kept && (await readRecord(log, runId, base.kept));
  if (record?.type === "Checkpoint") return { at: record.at, kept: record.journal as unknown as KeptJournal };
  const started = (await log.lookup(accepted.requestId, ownerOf(accepted)))?.started;
  // The records behind an event are found by the event.
  return started === undefined ? undefined : { at: { after: started - 1, n: 0 } };
}

/**
 * Reads what is needed to continue a started turn that stands at a place of the log, and where that was kept before;
 * `undefined` if the log no longer has it.
 */
export async function readKept(
  log: EventLog,
  runId: RunId,
  open: OpenRequest,
  to: RecordPosition,
): Promise<KeptJournal | undefined> {
  return (await readTurn(log, runId, open, to))?.kept();
}

/** Reads the journal of a started turn, up to a place of the log; `undefined` if the log no longer has it. */
export async function readJournal(
  log: EventLog,
  runId: RunId,
  open: OpenRequest,
  to: RecordPosition,
): Promise<TurnJournal | undefined> {
  return (await readTurn(log, runId, open, to))?.journal();
}

async function readTurn(
  log: EventLog,
  runId: RunId,
  open: OpenRequest,
  to: RecordPosition,
): Promise<JournalBuilder | undefined> {
  const base = await readBase(log, runId, open);
  if (base === undefined) return undefined;
  const { requestId } = open.accepted;
  const bodies = new MessageBodies();
  const builder = new JournalBuilder(rootOf(open.turn ?? 1), bodies, open.base, base.kept);
  let id = base.at.after;
  const visitor: Visitor = {
    event(text) {
      id += 1;
      if (id > to.after) return;
      if (typeOf(text) === "MessageReceived") bodies.add(id, toHeading(text).message?.body ?? null);
      else if (requestIdOf(text) === requestId) builder.event(text);
    },
    texts(texts) {
      const before = id;
      id += countTexts(texts);
      if (texts.speaker.address.request_id === requestId && before < to.after)
        builder.texts(id > to.after ? sliceTexts(texts, 0, to.after - before) : texts);
    },
    record(record) {
      if (record.n <= to.n) builder.record(record);
    },
  };
  // The records behind the last event belong to it, so the next event ends the range.
  await forEachEntry(log, runId, { head: base.at.after, records: base.at.n, end: to.after + 1 }, visitor);
  await bodies.complete(log, runId);
  return builder;
}

/** The state of a run when the event with this id was the newest, before later records. */
export async function stateAt(log: EventLog, runId: RunId, id: number): Promise<RunState> {
  if (id === 0) return initialRunState;
  const snapshot = await log.snapshot(runId);
  checkReadable(runId, snapshot?.data);
  // A snapshot with the same head may contain records that came after the event.
  const start = snapshot !== undefined && snapshot.head < id ? snapshot : undefined;
  let state = start === undefined ? initialRunState : fromSnapshot(start.data);
  const visitor: Visitor = {
    event(text) {
      state = withEvent(state, toHeading(text));
    },
    texts({ speaker }) {
      state = withProgress(state, speaker.address.request_id);
    },
    record(record) {
      state = withRecord(state, record);
    },
    base(base) {
      ({ state } = toBeginning(base));
    },
  };
  await forEachEntry(log, runId, { head: start?.head ?? 0, records: start?.records ?? 0, end: id }, visitor);
  return state;
}

/** Rebuilds the state of a run and the journal of its running turn in one pass. */
class RunLoader implements Visitor {
  state: RunState;
  /** The part of the log that the initial state covers. */
  readonly #covered: { readonly head: number; readonly records: number };
  /** The journals of started turns that have not ended; all but one of them are being canceled. */
  readonly #readers = new Map<RequestId, JournalBuilder>();
  readonly #bodies = new MessageBodies();
  /** The id of the last visited event. */
  #id: number;
  /** The number of the last record that is not visited. */
  #records: number;

  constructor(snapshot: Snapshot | undefined) {
    this.state = snapshot === undefined ? initialRunState : fromSnapshot(snapshot.data);
    this.#covered = snapshot ?? { head: 0, records: 0 };
    this.#id = this.#covered.head;
    this.#records = this.#covered.records;
    const open = startedOf(this.state);
    if (open) this.#begin(open);
  }

  /** The journal of the running turn. */
  get journal(): TurnJournal | undefined {
    const open = startedOf(this.state);
    return open && this.#readers.get(open.accepted.requestId)?.journal();
  }

  /** Reads a turn that the snapshot covers from its base on. */
  continue(open: OpenRequest, { at, kept }: ReadBase): void {
    const { head, records } = this.#covered;
    this.#begin(open, kept);
    this.#id = Math.min(head, at.after);
    this.#records = Math.min(records, at.n);
  }

  /** The part of the log to visit. */
  get range(): Range {
    return { head: this.#id, records: this.#records };
  }

  /** Reads the bodies that the journals and the state need. */
  async unreadBodies(log: EventLog, runId: RunId): Promise<readonly Json[]> {
    const bodies = this.#bodies.of((this.state.unread ?? []).map(({ id }) => id));
    await this.#bodies.complete(log, runId);
    return bodies;
  }

  event(text: string): void {
    this.#id += 1;
    const heading = toHeading(text);
    const isNew = this.#id > this.#covered.head;
    if (heading.message) {
      if (isNew) this.state = withEvent(this.state, heading);
      this.#bodies.add(this.#id, heading.message.body);
      return;
    }
    if (isNew) {
      this.state = withEvent(this.state, heading);
      if (heading.edge && heading.requestId !== null) {
        if (heading.type === "RequestStarted") this.#beginOf(heading.requestId);
        else this.#readers.delete(heading.requestId);
      }
    }
    if (heading.requestId !== null) this.#readers.get(heading.requestId)?.event(text);
  }

  texts(texts: Texts): void {
    this.#id += countTexts(texts);
    const { request_id: requestId } = texts.speaker.address;
    if (this.#id > this.#covered.head) this.state = withProgress(this.state, requestId);
    if (requestId !== null) this.#readers.get(requestId)?.texts(texts);
  }

  record(record: PlacedRecord): void {
    if (record.n > this.#covered.records) {
      this.state = withRecord(this.state, record);
      if (record.type === "Continued") this.#beginOf(record.request_id);
    }
    for (const reader of this.#readers.values()) reader.record(record);
  }

  #beginOf(requestId: RequestId): void {
    const open = this.state.open.find(({ accepted }) => accepted.requestId === requestId);
    if (open) this.#begin(open);
  }

  #begin({ accepted: { requestId }, turn = 1, base }: OpenRequest, kept?: KeptJournal): void {
    this.#readers.set(requestId, new JournalBuilder(rootOf(turn), this.#bodies, base, kept));
  }
}
