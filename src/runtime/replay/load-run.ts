import { AgentError } from "../../errors.ts";
import type { Claim, EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, Snapshot } from "../../ports/log-entries.ts";
import { countTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { rootOf } from "../journal/call-id.ts";
import { toHeading, withEvent, withProgress, withRecord } from "./heading.ts";
import { forEachEntry } from "./entries.ts";
import type { PlacedRecord, Range, Visitor } from "./entries.ts";
import { JournalBuilder } from "./journal-builder.ts";
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
  const loading = new RunLoader(snapshot);
  const before = startedOf(loading.state);
  const started =
    before && before.base === undefined ? (await log.lookup(before.accepted.requestId))?.started : undefined;
  await forEachEntry(log, runId, loading.rangeFrom(started), loading);
  const { state, journal } = loading;
  const bodies = await loading.unreadBodies(log, runId);
  const open = startedOf(state);
  if (open === undefined || journal === undefined) return { state, bodies };
  const entry = (await log.lookup(open.accepted.requestId)) ?? {};
  return { state, bodies, passivated: { journal, waiting: run.status === "waiting", entry } };
}

/** The state of a run when the event with this id was the newest, before later records. */
export async function stateAt(log: EventLog, runId: RunId, id: number): Promise<RunState> {
  const snapshot = await log.snapshot(runId);
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
  #id = 0;

  constructor(snapshot: Snapshot | undefined) {
    this.state = snapshot === undefined ? initialRunState : fromSnapshot(snapshot.data);
    this.#covered = snapshot ?? { head: 0, records: 0 };
    const open = startedOf(this.state);
    if (open) this.#begin(open);
  }

  /** The journal of the running turn. */
  get journal(): TurnJournal | undefined {
    const open = startedOf(this.state);
    return open && this.#readers.get(open.accepted.requestId)?.journal();
  }

  /** The part of the log to visit, given the id of the RequestStarted that the snapshot covers, if any. */
  rangeFrom(started: number | undefined): Range {
    const { head, records } = this.#covered;
    const base = startedOf(this.state)?.base;
    this.#id = Math.min(head, base?.at.after ?? (started ?? Infinity) - 1);
    const first = base?.at.n ?? (started === undefined ? records : 0);
    return { head: this.#id, records: Math.min(first, records) };
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

  #begin({ accepted: { requestId }, turn = 1, base }: OpenRequest): void {
    this.#readers.set(requestId, new JournalBuilder(rootOf(turn), this.#bodies, base));
  }
}
