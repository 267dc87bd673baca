import { AgentError } from "../../errors.ts";
import type { Claim, EventLog, RequestEntry, Snapshot } from "../../ports/event-log.ts";
import { depthOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { Event, EventType } from "../../protocol/events/events.ts";
import { countTexts, sliceTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { rootOf } from "../journal/call-id.ts";
import type { TurnJournal } from "./turn-journal.ts";
import { JournalBuilder } from "./journal-builder.ts";
import { MessageBodies } from "./message-bodies.ts";
import type { RecordBody } from "../journal/records.ts";
import { isRetry } from "../journal/recorder.ts";
import { evolve, fromSnapshot, newRun } from "./run-state.ts";
import type { OpenRequest, RunState, UnreadMessage } from "./run-state.ts";
import { byteLength } from "../journal/json-limits.ts";

/** A turn that is only in the log. */
export interface PassivatedTurn {
  readonly journal: TurnJournal;
  /** Whether it only waits for its caller, so that nothing happens until an answer arrives. */
  readonly waiting: boolean;
  /** Its wake time and what it waits for in the index, if it was passivated at rest. */
  readonly rest: Pick<RequestEntry, "wakeAt" | "waitingFor" | "rests">;
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
  if (run === undefined) return { state: newRun, bodies: [] };
  if (run.removed === true) throw new AgentError("gone", `run ${runId} was removed`);
  const loading = new RunLoader(snapshot);
  const before = startedOf(loading.state);
  const started = before && (await log.lookup(before.accepted.requestId))?.started;
  await forEachEntry(log, runId, loading.rangeFrom(started), loading);
  const { state, journal } = loading;
  const bodies = await loading.unreadBodies(log, runId);
  const open = startedOf(state);
  if (open === undefined || journal === undefined) return { state, bodies };
  const rest = (await log.lookup(open.accepted.requestId)) ?? {};
  return { state, bodies, passivated: { journal, waiting: run.status === "waiting", rest } };
}

/** The state of a run when the event with this id was the newest, before later records. */
export async function stateAt(log: EventLog, runId: RunId, id: number): Promise<RunState> {
  const snapshot = await log.snapshot(runId);
  // A snapshot at the event itself may contain what followed it.
  const start = snapshot !== undefined && snapshot.head < id ? snapshot : undefined;
  let state = start === undefined ? newRun : fromSnapshot(start.data);
  const visitor: Visitor = {
    event(text) {
      state = withEvent(state, toHeading(text));
    },
    texts() {
      state = withProgress(state);
    },
    record(record) {
      state = withRecord(state, record);
    },
  };
  await forEachEntry(log, runId, { head: start?.head ?? 0, records: start?.records ?? 0, end: id }, visitor);
  return state;
}

const PAGE = { limit: 10_000, limitBytes: 8 * 1_048_576, records: true };

/** A part of a log: after an event and a record, up to an event. */
interface Range {
  readonly head: number;
  readonly records: number;
  readonly end?: number;
}

/** Receives the entries of a log. */
interface Visitor {
  event(text: string): void;
  texts(texts: Texts): void;
  record(record: RecordBody): void;
}

/** Visits the events and records of a run in the order of their appends. */
async function forEachEntry(log: EventLog, runId: RunId, range: Range, visitor: Visitor): Promise<void> {
  const { end = Infinity } = range;
  let lastRecord = range.records;
  for (let after = range.head; ;) {
    const page = await log.read(runId, { after, afterRecord: lastRecord, ...PAGE });
    const { events, records, head, cut = false } = page;
    let next = 0;
    const visitRecords = (upTo: number): void => {
      for (let record = records[next]; record !== undefined && record.after <= upTo; record = records[next]) {
        next += 1;
        // Two pages both contain the records at their border.
        if (record.n <= lastRecord) continue;
        lastRecord = record.n;
        if (record.after < end) visitor.record(record as unknown as RecordBody);
      }
    };
    visitRecords(after);
    for (const item of events) {
      if (typeof item === "string") {
        after += 1;
        if (after > end) return;
        visitor.event(item);
        visitRecords(after);
        continue;
      }
      const count = countTexts(item);
      for (let seen = 0; seen < count;) {
        // Up to the next record, which may be between two of the texts.
        const upTo = Math.min(records[next]?.after ?? Infinity, end, after + count - seen);
        if (upTo <= after) return;
        visitor.texts(sliceTexts(item, seen, upTo - after));
        seen += upTo - after;
        after = upTo;
        visitRecords(after);
      }
    }
    if (!cut && (events.length === 0 || after >= head)) return;
  }
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
  #id = 0;

  constructor(snapshot: Snapshot | undefined) {
    this.state = snapshot === undefined ? newRun : fromSnapshot(snapshot.data);
    this.#covered = snapshot ?? { head: 0, records: 0 };
    const open = startedOf(this.state);
    if (open) this.#begin(open.accepted.requestId, open.turn ?? 1);
  }

  /** The journal of the running turn. */
  get journal(): TurnJournal | undefined {
    const open = startedOf(this.state);
    return open && this.#readers.get(open.accepted.requestId)?.journal();
  }

  /** The part of the log to visit, given the id of the RequestStarted that the snapshot covers, if any. */
  rangeFrom(started: number | undefined): Range {
    const { head, records } = this.#covered;
    this.#id = Math.min(head, (started ?? Infinity) - 1);
    return { head: this.#id, records: started === undefined ? records : 0 };
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
        if (heading.type === "RequestStarted") this.#begin(heading.requestId, this.state.turns);
        else this.#readers.delete(heading.requestId);
      }
    }
    if (heading.requestId !== null) this.#readers.get(heading.requestId)?.event(text);
  }

  texts(texts: Texts): void {
    this.#id += countTexts(texts);
    if (this.#id > this.#covered.head) this.state = withProgress(this.state);
    const { request_id: requestId } = texts.speaker.address;
    if (requestId !== null) this.#readers.get(requestId)?.texts(texts);
  }

  record(record: RecordBody & { readonly n?: number }): void {
    if ((record.n ?? 0) > this.#covered.records) this.state = withRecord(this.state, record);
    for (const reader of this.#readers.values()) reader.record(record);
  }

  #begin(requestId: RequestId, turn: number): void {
    this.#readers.set(requestId, new JournalBuilder(rootOf(turn), this.#bodies));
  }
}

/** The request whose turn is running. */
function startedOf({ open }: RunState): OpenRequest | undefined {
  return open.find(({ turn }) => turn !== undefined);
}

/** The parts of an event that affect the state of a run. */
interface Heading {
  readonly requestId: RequestId | null;
  readonly type: EventType;
  /** Whether a turn starts or ends with it. */
  readonly edge: boolean;
  /** Whether it repeats a call, which is no progress. */
  readonly isRetry: boolean;
  readonly message?: UnreadMessage & { readonly body: Json };
  readonly renewedTo?: RunId;
}

function toHeading(text: string): Heading {
  const type = typeOf(text);
  const mayBeEdge = type === "RequestStarted" || type === "RequestCompleted";
  const requestId = requestIdOf(text);
  return {
    requestId,
    type,
    edge: mayBeEdge && depthOf(text) === 0,
    isRetry: CALLS.has(type) && isRetry(JSON.parse(text) as Event),
    ...(type === "MessageReceived" && { message: toMessage(text) }),
    ...(type === "Renewed" && { renewedTo: (JSON.parse(text) as Event & { readonly type: "Renewed" }).to }),
  };
}

function toMessage(text: string): Heading["message"] & object {
  const { id, name, body } = JSON.parse(text) as Event & { readonly type: "MessageReceived" };
  return { id, name, body, bytes: byteLength(text) };
}

/** Events that start a call; few of them need parsing. */
const CALLS: ReadonlySet<EventType> = new Set(["ToolCall", "CompletionCall"]);

function withEvent(
  state: RunState,
  { requestId, type, edge, isRetry, message, renewedTo }: Heading,
): RunState {
  // A message comes from outside, so it is no progress of the turn.
  if (message) return evolve(state, { type: "MessageReceived", ...message });
  if (renewedTo !== undefined) return evolve(state, { type: "Renewed", to: renewedTo });
  if (requestId === null || isRetry) return state;
  if (!edge) return withProgress(state);
  return evolve(state, { type: type === "RequestStarted" ? type : "RequestCompleted", requestId });
}

function withRecord(state: RunState, record: RecordBody): RunState {
  switch (record.type) {
    case "Accepted":
    case "ConfigRecorded":
    case "Scheduled":
    case "Forked":
    case "MemoryCommitted":
    case "Accompanied":
    case "RecoveryStarted":
    case "Released":
      return evolve(state, record);
    case "Received":
      return withProgress(evolve(state, record));
    case "Queued":
    case "Begun":
      // Neither is progress: a call that ends the process each time would never be found.
      return state;
    default:
      return withProgress(state);
  }
}

function withProgress(state: RunState): RunState {
  const continued = state.open.find(({ recoveries, released = false }) => recoveries > 0 || released);
  return continued ? evolve(state, { type: "Progress", requestId: continued.accepted.requestId }) : state;
}
