import { AgentError } from "../../errors.ts";
import type { EventLog, Page } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { depthOf, idOf, typeOf } from "../../protocol/events/encode.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { By } from "../../protocol/actors.ts";
import type { Event } from "../../protocol/events/events.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { RunContext } from "../run-context.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { isLeaving } from "../journal/system-runs.ts";
import { toBeginning, toForgotten } from "../replay/beginning.ts";
import type { PlacedRecord } from "../replay/entries.ts";
import { stateAt } from "../replay/load-run.ts";
import { initialRunState } from "../replay/run-state.ts";
import type { RunState } from "../replay/run-state.ts";

/** The number of events that are copied in one commit. */
const COPIED_AT_ONCE = 1_000;

/** Throws `conflict` unless a run can be forked there: at its start, or where a turn has ended. */
export async function checkForkPoint(log: EventLog, { runId, head }: RunEntry, after: number): Promise<void> {
  if (after === 0) return;
  const { events, base } = after <= head ? await log.read(runId, { after: after - 1, limit: 1 }) : NO_PAGE;
  if (base) throw toForgotten(runId, base);
  const [text] = events;
  const isEnd = typeof text === "string" && typeOf(text) === "RequestCompleted" && depthOf(text) === 0;
  if (isEnd && !(await isInTurn(log, runId, after))) return;
  // The run was removed after its row was read.
  if (text === undefined && after <= head) throw gone(runId);
  throw new AgentError("conflict", `run ${runId} cannot be forked after event ${after}`, {
    hint: "fork it after 0 or after a RequestCompleted at depth 0, but not inside the turn of another request",
  });
}

const NO_PAGE: Pick<Page, "base" | "events"> = { events: [] };

/** Whether a turn is open after an event: requests can end inside the turn of another one. */
async function isInTurn(log: EventLog, runId: RunId, after: number): Promise<boolean> {
  const { open } = await stateAt(log, runId, after);
  return open.some(({ turn }) => turn !== undefined);
}

/** What is copied of a run, and where. */
interface CopiedHistory {
  readonly source: RunEntry;
  readonly after: number;
  readonly target: RunId;
  /** Who forks the run. */
  readonly by?: By | undefined;
  /** The state at the end of the history; by default that at its last event. */
  readonly state?: RunState | Promise<RunState>;
}

/**
 * Copies the history of a run up to an event into a new run: the same events, with the new run's id and their
 * original position. Agents have their memory of that point.
 */
export async function copyHistory(
  { log, files, secrets }: RunContext,
  ledger: RunLedger,
  { source, after, target, by, state = stateAt(log, source.runId, after) }: CopiedHistory,
): Promise<void> {
  const { recorder } = ledger;
  const named = new Set<ArtifactId>();
  // An earlier owner of the run may have copied a part before it died.
  const { head } = recorder;
  let afterRecord = 0;
  for (let copied = 0; copied < after;) {
    const limit = Math.min(COPIED_AT_ONCE, after - copied);
    const page = await log.read(source.runId, { after: copied, limit, records: true, afterRecord });
    if (page.base) {
      // The copy begins where the run does.
      const { base } = page;
      if (base.head >= after) throw toForgotten(source.runId, base);
      const kept = toBeginning(base).events;
      for (const text of kept) for (const artifactId of filesIn(text)) named.add(artifactId);
      const events = kept.map((text) => toCopy(text, source.runId, target));
      const data = { state: initialRunState, events, records: [] } as unknown as Json;
      if (base.head > head) recorder.base({ head: base.head, records: recorder.records, data });
      copied = base.head;
      continue;
    }
    const events = toEncoded(page.events);
    // Without this check, missing events would cause an endless loop.
    if (events.length === 0) throw gone(source.runId);
    // What agents remembered at each place, so that the copy can be forked there too.
    const records = page.records as unknown as readonly PlacedRecord[];
    const memories = records.filter(isMemory).filter(({ n }) => n > afterRecord);
    afterRecord = records.at(-1)?.n ?? afterRecord;
    for (const text of events) {
      if (idOf(text) > head) {
        for (const { agent, value } of takeBefore(memories, idOf(text)))
          ledger.change({ type: "MemoryCommitted", agent, value });
        recorder.encoded(toCopy(text, source.runId, target));
      }
      for (const artifactId of filesIn(text)) named.add(artifactId);
    }
    copied += events.length;
    await ledger.committed();
  }
  const { turns, memory, config } = await state;
  for (const [agent, value] of Object.entries(memory))
    ledger.change({ type: "MemoryCommitted", agent, value });
  if (config)
    await secrets.with(config.args, async () => ledger.change({ type: "ConfigRecorded", ...config }));
  ledger.change({ type: "Forked", turns, ...(by && { by }) });
  recorder.audit("fork", by, { detail: `from ${source.runId}` });
  await ledger.committed();
  await files.attach([...named], target);
  // A source that was removed during the copy may have been read in part. Its outside references are kept
  // from here on.
  const now = await log.run(source.runId);
  if (now === undefined || isLeaving(now)) throw gone(source.runId);
}

type MemoryRecord = Extract<PlacedRecord, { readonly type: "MemoryCommitted" }>;

/** Whether a record is what an agent remembers of the run from there on. */
function isMemory(record: PlacedRecord): record is MemoryRecord {
  return record.type === "MemoryCommitted" && record.call_id === undefined;
}

/** Takes the records before an event from the beginning of a list. */
function takeBefore(records: MemoryRecord[], id: number): readonly MemoryRecord[] {
  const count = records.findIndex(({ after }) => after >= id);
  return records.splice(0, count < 0 ? records.length : count);
}

/** The artifact ids in an event. */
export function filesIn(text: string): readonly ArtifactId[] {
  if (!MAY_NAME_FILES.has(typeOf(text))) return [];
  const event = JSON.parse(text) as Event;
  switch (event.type) {
    case "ArtifactGenerated":
    case "ArtifactUploaded":
      return [event.artifact_id];
    case "RequestStarted":
      return event.attachments ?? [];
    default:
      return [];
  }
}

const MAY_NAME_FILES: ReadonlySet<EventType> = new Set([
  "ArtifactGenerated",
  "ArtifactUploaded",
  "RequestStarted",
]);

function gone(runId: RunId): AgentError {
  return new AgentError("gone", `run ${runId} was removed`);
}

/** The event as copied to the new run. */
export function toCopy(text: string, source: RunId, target: RunId): string {
  const own = text.replace(/,"forked_from":\{[^}]*\}\}$/u, "}");
  const moved = own.replace(`"run_id":"${source}"`, () => `"run_id":"${target}"`);
  return `${moved.slice(0, -1)},"forked_from":{"run_id":"${source}","id":${idOf(text)}}}`;
}
