import type { EventLog } from "../../../ports/event-log.ts";
import { depthOf, typeOf } from "../../../protocol/events/encode.ts";
import type { EventOf } from "../../../protocol/events/event-schemas.ts";
import { countTexts } from "../../../protocol/events/texts.ts";
import type { Texts } from "../../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { InspectedMark } from "../../inspection.ts";
import { rootOf } from "../../journal/call-id.ts";
import type { MachineState } from "../../journal/records.ts";
import { toHeading, withEvent, withProgress, withRecord } from "../../replay/entries/heading.ts";
import { forEachEntry } from "../../replay/entries/visit.ts";
import type { PlacedRecord, Visitor } from "../../replay/entries/visit.ts";
import { newRun, startedOf } from "../../replay/run-state.ts";
import type { RunState } from "../../replay/run-state.ts";

/** A run as of an event. */
export interface RunAt {
  readonly state: RunState;
  /** The machines of the newest turn that had one, by the scope of their actor. */
  readonly machines: ReadonlyMap<string, KnownMachine>;
  readonly marks: readonly InspectedMark[];
}

/** The recorded state of a machine, and the request whose turn runs it. */
export interface KnownMachine extends MachineState {
  readonly requestId: RequestId;
}

/**
 * Reads a run up to an event, as a run is loaded. At the newest event that includes all records; at an earlier one, only
 * those before it, because the next ones belong to what happened then.
 */
export async function readRunAt(
  log: EventLog,
  runId: RunId,
  { at, isNewest }: { readonly at: number; readonly isNewest: boolean },
): Promise<RunAt> {
  const visitor = new RunAtVisitor(at, isNewest);
  await forEachEntry(log, runId, { head: 0, records: 0, end: at + SAME_COMMIT }, visitor);
  return visitor;
}

/** A StateChanged is followed by the record of the state, after the events of the calls that the transition starts. */
const SAME_COMMIT = 100;

class RunAtVisitor implements Visitor, RunAt {
  state: RunState = newRun;
  readonly machines = new Map<string, KnownMachine>();
  readonly marks: InspectedMark[] = [];
  readonly #at: number;
  readonly #isNewest: boolean;
  #id = 0;
  /** The scopes of machines whose newest StateChanged has no record yet. */
  readonly #moved = new Set<string>();

  constructor(at: number, isNewest: boolean) {
    this.#at = at;
    this.#isNewest = isNewest;
  }

  event(text: string): void {
    this.#id += 1;
    if (this.#id > this.#at) return;
    this.state = withEvent(this.state, toHeading(text));
    if (typeOf(text) !== "StateChanged") return;
    const { parent_call_id: call } = JSON.parse(text) as EventOf<"StateChanged">;
    this.#moved.add(depthOf(text) === 0 ? rootOf(startedOf(this.state)?.turn ?? 0) : (call ?? ""));
  }

  texts(texts: Texts): void {
    this.#id += countTexts(texts);
    this.state = withProgress(this.state);
  }

  record(record: PlacedRecord): void {
    const isBefore = this.#isNewest || record.after < this.#at;
    if (record.type === "MachineState" && (isBefore || this.#moved.has(record.scope)))
      this.#setMachine(record.scope, record.state);
    if (!isBefore) return;
    this.state = withRecord(this.state, record);
    const mark = toMark(record, this.marks);
    if (mark) this.marks.push(mark);
  }

  #setMachine(scope: string, state: MachineState): void {
    const started = startedOf(this.state);
    if (started?.turn === undefined) return;
    this.#moved.delete(scope);
    const { requestId } = started.accepted;
    for (const [other, machine] of this.machines)
      if (machine.requestId !== requestId) this.machines.delete(other);
    this.machines.set(scope, { ...state, requestId });
  }
}

function toMark(record: PlacedRecord, before: readonly InspectedMark[]): InspectedMark | undefined {
  const { after } = record;
  switch (record.type) {
    case "Accepted": {
      const { requestId, acceptedAt } = record.accepted;
      return { type: "accepted", after, request_id: requestId, at: new Date(acceptedAt).toISOString() };
    }
    case "RecoveryStarted":
      if (!isRestart(record, before)) return undefined;
      return { type: "recovered", after, request_id: record.request_id, ...toTime(record.at) };
    case "Released":
      // Without a time, the turn began to rest; the process did not end.
      if (record.at === undefined) return undefined;
      return { type: "released", after, request_id: record.request_id, ...toTime(record.at) };
    default:
      return undefined;
  }
}

/** Whether a turn continues because its process ended, not because a long sleep is over. */
function isRestart(
  { request_id: requestId, deaths = 0 }: PlacedRecord & { readonly type: "RecoveryStarted" },
  before: readonly InspectedMark[],
): boolean {
  return deaths > 0 || before.findLast((mark) => mark.request_id === requestId)?.type === "released";
}

function toTime(at: number | undefined): { readonly at?: string } {
  return at === undefined ? {} : { at: new Date(at).toISOString() };
}
