import { AgentError } from "../errors.ts";
import type { Claim, EventLog, Snapshot } from "../ports/event-log.ts";
import { depthOf, requestIdOf, typeOf } from "../protocol/encode.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Journal } from "./journal.ts";
import { JournalReader } from "./journal-reader.ts";
import type { RecordBody } from "./records.ts";
import { evolve, fromSnapshot, newRun } from "./run-state.ts";
import type { RunState } from "./run-state.ts";
import type { DormantTurn } from "./turn-slot.ts";

/** What the log holds of a run, and the turn that is under way in it. */
export interface LoadedRun {
  readonly state: RunState;
  readonly dormant?: DormantTurn;
}

/** Rebuilds a run that was claimed, with its turn if one is open; throws `gone` when it was removed. */
export async function loadRun(log: EventLog, { cursor, run, snapshot }: Claim): Promise<LoadedRun> {
  const { runId } = cursor;
  if (run === undefined) return { state: newRun };
  if (run.removed === true) throw new AgentError("gone", `run ${runId} was removed`);
  const state = await loadState(log, runId, snapshot);
  const open = state.open.find(({ turn }) => turn !== undefined);
  if (open === undefined) return { state };
  const { requestId } = open.accepted;
  const entry = await log.lookup(requestId);
  const place = { requestId, root: `c${open.turn}`, started: entry?.started ?? 1 };
  const journal = await loadJournal(log, runId, place);
  const { phase, wakeAt } = entry ?? {};
  return {
    state,
    dormant: { journal, waiting: phase === "waiting", ...(wakeAt !== undefined && { wakeAt }) },
  };
}

/** Rebuilds what a run's owner has to know, from its newest snapshot and what came after. */
export async function loadState(
  log: EventLog,
  runId: RunId,
  snapshot: Snapshot | undefined,
): Promise<RunState> {
  const start = snapshot === undefined ? newRun : fromSnapshot(snapshot.data);
  return fold(log, runId, start, snapshot ?? { head: 0, records: 0 });
}

/** The state of a run as it was when its event with an id was the newest and nothing had followed it. */
export async function stateAt(log: EventLog, runId: RunId, id: number): Promise<RunState> {
  return fold(log, runId, newRun, { head: 0, records: 0, end: id });
}

/** Rebuilds the journal of a turn whose RequestStarted has the given id. */
export async function loadJournal(
  log: EventLog,
  runId: RunId,
  turn: { readonly requestId: RequestId; readonly root: string; readonly started: number },
): Promise<Journal> {
  const reader = new JournalReader(turn.requestId, turn.root);
  await forEachEntry(log, runId, { head: turn.started - 1, records: 0 }, reader);
  return reader.journal();
}

const PAGE = { limit: 10_000, limitBytes: 8 * 1_048_576, records: true };

/** Which part of a log to go through: what follows an event and a record, up to an event. */
interface Range {
  readonly head: number;
  readonly records: number;
  readonly end?: number;
}

/** Who is told of the entries of a log. */
interface Visitor {
  event(text: string): void;
  record(record: RecordBody): void;
}

/** Goes through the events and records of a run in the order in which they were appended. */
async function forEachEntry(log: EventLog, runId: RunId, range: Range, visitor: Visitor): Promise<void> {
  const { end = Infinity } = range;
  let lastRecord = range.records;
  for (let after = range.head; ;) {
    const { events, records, head } = await log.read(runId, { after, ...PAGE });
    let next = 0;
    const visitRecords = (upTo: number): void => {
      for (let record = records[next]; record !== undefined && record.after <= upTo; record = records[next]) {
        next += 1;
        // Pages overlap in the records at their borders.
        if (record.n <= lastRecord || record.after >= end) continue;
        lastRecord = record.n;
        visitor.record(record as unknown as RecordBody);
      }
    };
    visitRecords(after);
    for (const text of events) {
      after += 1;
      if (after > end) return;
      visitor.event(text);
      visitRecords(after);
    }
    if (events.length === 0 || after >= head) return;
  }
}

async function fold(log: EventLog, runId: RunId, start: RunState, range: Range): Promise<RunState> {
  let state = start;
  await forEachEntry(log, runId, range, {
    event(text) {
      state = withEvent(state, text);
    },
    record(record) {
      state = withRecord(state, record);
    },
  });
  return state;
}

function withEvent(state: RunState, text: string): RunState {
  const requestId = requestIdOf(text) as RequestId | null;
  if (requestId === null) return state;
  const type = typeOf(text);
  if (depthOf(text) === 0 && (type === "RequestStarted" || type === "RequestCompleted")) {
    return evolve(state, { type, requestId });
  }
  return withProgress(state);
}

function withRecord(state: RunState, record: RecordBody): RunState {
  switch (record.type) {
    case "Accepted":
    case "ConfigRecorded":
    case "Forked":
    case "MemoryCommitted":
    case "RecoveryStarted":
    case "Released":
      return evolve(state, record);
    default:
      return withProgress(state);
  }
}

/** Something came of the turn since it was last recovered. */
function withProgress(state: RunState): RunState {
  const recovered = state.open.find(({ recoveries }) => recoveries > 0);
  return recovered ? evolve(state, { type: "Progress", requestId: recovered.accepted.requestId }) : state;
}
