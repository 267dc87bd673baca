import type { EventLog, Page, Snapshot } from "../ports/event-log.ts";
import { depthOf, requestIdOf, typeOf } from "../protocol/encode.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import { JournalReader } from "./journal.ts";
import type { Journal } from "./journal.ts";
import type { RecordBody } from "./records.ts";
import { evolve, fromSnapshot, newRun } from "./run-state.ts";
import type { RunState } from "./run-state.ts";

const PAGE = { limit: 10_000, limitBytes: 8 * 1_048_576, records: true };

/** Rebuilds what a run's owner has to know, from its newest snapshot and what came after. */
export async function loadState(
  log: EventLog,
  runId: RunId,
  snapshot: Snapshot | undefined,
): Promise<RunState> {
  let state = snapshot === undefined ? newRun : fromSnapshot(snapshot.data);
  let lastRecord = snapshot?.records ?? 0;
  for await (const { page, after } of pagesFrom(log, runId, snapshot?.head ?? 0)) {
    let next = 0;
    const takeRecords = (upTo: number): void => {
      for (
        let record = page.records[next];
        record !== undefined && record.after <= upTo;
        record = page.records[next]
      ) {
        next += 1;
        if (record.n <= lastRecord) continue;
        lastRecord = record.n;
        state = withRecord(state, record as unknown as RecordBody);
      }
    };
    takeRecords(after);
    page.events.forEach((text, index) => {
      state = withEvent(state, text);
      takeRecords(after + index + 1);
    });
  }
  return state;
}

/** Rebuilds the journal of a turn whose RequestStarted has the given id. */
export async function loadJournal(
  log: EventLog,
  runId: RunId,
  {
    requestId,
    root,
    started,
  }: { readonly requestId: RequestId; readonly root: string; readonly started: number },
): Promise<Journal> {
  const reader = new JournalReader(requestId, root);
  for await (const { page, after } of pagesFrom(log, runId, started - 1)) reader.add(page, after);
  return reader.journal();
}

/** The log from a place on, page by page, with its records. */
async function* pagesFrom(
  log: EventLog,
  runId: RunId,
  start: number,
): AsyncGenerator<{ readonly page: Page; readonly after: number }> {
  for (let after = start; ;) {
    const page = await log.read(runId, { after, ...PAGE });
    yield { page, after };
    after += page.events.length;
    if (page.events.length === 0 || after >= page.head) return;
  }
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
