import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunRow } from "../../ports/log-batch.ts";
import type { RunId } from "../../protocol/ids.ts";
import {
  batchesOf,
  removedBatchesOf,
  requestsOf,
  readOpenWaits,
  readOutbox,
  readSchedules,
} from "./batches.ts";
import type { CopiedItem } from "./copy-log.ts";
import { createHash } from "node:crypto";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";

/** The place of a run among others that are copied at the same time. */
interface Place {
  /** Resolves when the runs before it have their first appends. */
  readonly isNext: Promise<void>;
  /** Called when the run has its first append. */
  begun(): void;
}

/** Copies a run, or what an interrupted copy of it lacks, and compares it. */
export async function copyRun(runId: RunId, from: EventLog, to: EventLog, place: Place): Promise<CopiedItem> {
  const [source, target] = await Promise.all([from.run(runId), to.run(runId)]);
  if (source === undefined) throw new AgentError("not_found", "the source has it no longer");
  const isNew = target === undefined || isIncomplete(target);
  if (isNew) await (source.removed === true ? copyRemoved : copyStored)(source, from, to, place);
  const [own, copy] = [await digestRun(from, runId), await digestRun(to, runId)];
  if (own.hash !== copy.hash) {
    if (isNew) throw new AgentError("internal", "its copy is not equal to it");
    throw differs(source, target, own.events, copy.events);
  }
  // A process that died did not release it.
  if (!isNew && target.node !== undefined) to.release((await to.claim(runId)).cursor);
  const kind = source.removed === true ? "removed run" : "run";
  return { kind, id: runId, isNew, events: own.events, bytes: own.bytes };
}

async function copyStored(source: RunEntry, from: EventLog, to: EventLog, place: Place): Promise<void> {
  const { runId } = source;
  const claim = await to.claim(runId);
  let { cursor } = claim;
  try {
    if (cursor.head > source.head) throw differs(source, claim.run, source.head, cursor.head);
    let row: RunRow | undefined = claim.run === undefined ? incompleteOf(source) : undefined;
    for await (const batch of batchesOf(from, source, cursor)) {
      if (row !== undefined) await place.isNext;
      cursor = await to.append(cursor, { ...(row && { run: row }), ...batch });
      row = undefined;
      place.begun();
    }
  } finally {
    to.release(cursor);
  }
}

/** Makes the ids of a removed run and of its requests unusable: a run with only these is written, and removed. */
async function copyRemoved(source: RunEntry, from: EventLog, to: EventLog): Promise<void> {
  const { runId } = source;
  let { cursor } = await to.claim(runId);
  try {
    for await (const batch of removedBatchesOf(from, runId))
      cursor = await to.append(cursor, { ...batch, run: incompleteOf(source) });
    await to.remove(cursor);
  } finally {
    to.release(cursor);
  }
}

/** The row of a run until everything else of it is there. A run without an agent is hidden from clients. */
const INCOMPLETE: RunRow = {
  agent: "",
  status: "idle",
  createdAt: 0,
  updatedAt: 0,
  turns: 0,
  initialInput: null,
  metadata: { copying: true },
};

function incompleteOf({ owner }: RunEntry): RunRow {
  return { ...INCOMPLETE, ...(owner !== undefined && { owner }) };
}

/** Whether a copy of the run was interrupted. */
function isIncomplete({ agent, metadata, removed }: RunEntry): boolean {
  return removed !== true && agent === "" && metadata["copying"] === true;
}

function differs(
  source: RunEntry,
  target: RunEntry | undefined,
  sourceEvents: number,
  targetEvents: number,
): AgentError {
  const toState = (run: RunEntry | undefined, events: number): string =>
    run?.removed === true ? "was removed" : `has ${events} event${events === 1 ? "" : "s"}`;
  const [own, other] = [toState(source, sourceEvents), toState(target, targetEvents)];
  const states =
    own === other
      ? `both ${own.replace("has", "have")}`
      : `it ${own} in the source and ${other} in the target`;
  return new AgentError("conflict", `it is in both logs and differs: ${states}`, {
    hint: "nothing of it was overwritten; copy to an empty target, or remove the one that is wrong",
  });
}

/** The content of a run in short. */
interface RunDigest {
  readonly hash: string;
  readonly events: number;
  /** The bytes of its events and records. */
  readonly bytes: number;
}

/** Reads everything of a run, page by page. Two engines that have the same run give the same hash. */
async function digestRun(log: EventLog, runId: RunId): Promise<RunDigest> {
  const facts = createHash("sha256");
  const add = (what: string, value: object | undefined): void => {
    facts.update(`${what} ${value === undefined ? "none" : toSortedJson(value)}\n`);
  };
  const { events, bytes, hash } = await digestEntries(log, runId);
  add("entries", { events, bytes, hash });
  const { node: _node, ...entry } = (await log.run(runId)) ?? {};
  add("run", entry);
  for await (const page of requestsOf(log, runId)) {
    for (const { accepted, ...request } of page)
      add("request", { ...request, accepted: [accepted.n, accepted.after] });
  }
  const { aliases, references } = await log.holdings(runId);
  for (const alias of aliases) add("alias", alias);
  for (const thing of references) add("reference", { thing });
  for (const wait of await readOpenWaits(log, runId)) add("wait", wait);
  for (const message of await readOutbox(log, runId)) add("outbox", message);
  for (const schedule of await readSchedules(log, runId)) add("schedule", schedule);
  add("snapshot", await log.snapshot(runId));
  return { hash: facts.digest("hex"), events, bytes };
}

/** Pages of different engines end at different places, so events and records have a hash each. */
async function digestEntries(log: EventLog, runId: RunId): Promise<RunDigest> {
  const [events, records] = [createHash("sha256"), createHash("sha256")];
  let bytes = 0;
  let [after, afterRecord] = [0, 0];
  for (;;) {
    const page = await log.read(runId, { after, afterRecord, ...PAGE });
    if (page.base) {
      events.update(toSortedJson(page.base));
      after = page.base.head;
    }
    for (const text of toEncoded(page.events)) {
      events.update(text).update("\n");
      bytes += Buffer.byteLength(text);
    }
    for (const record of page.records) {
      const text = JSON.stringify(record);
      records.update(text).update("\n");
      bytes += Buffer.byteLength(text);
      afterRecord = record.n;
    }
    after += countEvents(page.events);
    const isEnd = page.cut !== true && (page.events.length === 0 || after >= page.head);
    if (isEnd) return { hash: events.digest("hex") + records.digest("hex"), events: after, bytes };
  }
}

/** The fields in alphabetical order, because each engine has its own. Their values are stored as JSON and keep theirs. */
function toSortedJson(value: object): string {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return JSON.stringify(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const PAGE = { limit: 10_000, limitBytes: 1_048_576, records: true };
