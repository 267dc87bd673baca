import { AgentError } from "../../../src/errors.ts";
import { Unavailable } from "../../../src/ports/event-log.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { DamagedLog, sqliteLog } from "../../../src/storage/sqlite/index.ts";
import type { History } from "./read-history.ts";

/** What a log shows of a history that it should have. */
export interface Comparison {
  /** Whether the log cannot be opened. */
  readonly refused: boolean;
  /** Whether the log reports damage: it is refused, or a run cannot be read. */
  readonly noticed: boolean;
  /** Events that never existed, and losses of answered events that the log does not report. */
  readonly violations: readonly string[];
}

/** Opens a log and compares its readable events with a history. The log is changed as by any start. */
export async function compareLog(
  directory: string,
  history: History,
  { acceptLoss }: { readonly acceptLoss: boolean },
): Promise<Comparison> {
  let log: EventLog;
  try {
    log = sqliteLog(directory, { acceptLoss });
  } catch (error) {
    const known = error instanceof DamagedLog || error instanceof AgentError;
    return { refused: true, noticed: true, violations: known ? [] : [`it is refused by ${String(error)}`] };
  }
  try {
    const violations: string[] = [];
    let noticed = false;
    for (const [runId, { events }] of history.runs) {
      const read = await readEvents(log, runId);
      noticed ||= read.events === undefined;
      if (read.fault !== undefined) violations.push(`run ${runId} fails with ${read.fault}`);
      if (read.events === undefined) continue;
      const changed = read.events.findIndex((text, index) => text !== events[index]);
      if (changed >= 0) violations.push(`event ${changed + 1} of run ${runId} is not what it was`);
      const promised = (history.unanswered.get(runId) ?? events.length + 1) - 1;
      if (read.events.length < promised && !acceptLoss) {
        violations.push(`run ${runId} has ${read.events.length} of ${promised} events without an error`);
      }
    }
    return { refused: false, noticed, violations };
  } finally {
    await log.close();
  }
}

/** Reads the events of a run; empty if the log reports damage, and a violation for any other error. */
async function readEvents(
  log: EventLog,
  runId: string,
): Promise<{ readonly events?: readonly string[]; readonly fault?: string }> {
  try {
    const { events } = await log.read(runId, { after: 0, records: true });
    return { events: toEncoded(events) };
  } catch (error) {
    return error instanceof Unavailable ? {} : { fault: String(error) };
  }
}
