import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunRow } from "../../ports/log-batch.ts";
import type { RunId } from "../../protocol/ids.ts";
import { batchesOf, removedBatchesOf } from "./batches.ts";
import type { Copied } from "./copy-log.ts";
import { digestRun } from "./digest-run.ts";

/** The place of a run among others that are copied at the same time. */
export interface Place {
  /** Resolves when the runs before it have their first appends. */
  readonly isNext: Promise<void>;
  /** Called when the run has its first append. */
  begun(): void;
}

/** Copies a run, or what an interrupted copy of it lacks, and compares it. */
export async function copyRun(runId: RunId, from: EventLog, to: EventLog, place: Place): Promise<Copied> {
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
  if (!isNew && target.owner !== undefined) to.release((await to.claim(runId)).cursor);
  const kind = source.removed === true ? "removed run" : "run";
  return { kind, id: runId, isNew, events: own.events, bytes: own.bytes };
}

async function copyStored(source: RunEntry, from: EventLog, to: EventLog, place: Place): Promise<void> {
  const { runId } = source;
  const claim = await to.claim(runId);
  let { cursor } = claim;
  try {
    if (cursor.head > source.head) throw differs(source, claim.run, source.head, cursor.head);
    let row: RunRow | undefined = claim.run === undefined ? INCOMPLETE : undefined;
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
async function copyRemoved({ runId }: RunEntry, from: EventLog, to: EventLog): Promise<void> {
  let { cursor } = await to.claim(runId);
  try {
    for await (const batch of removedBatchesOf(from, runId))
      cursor = await to.append(cursor, { ...batch, run: INCOMPLETE });
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
