import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { AgentError } from "../../../src/errors.ts";
import { Unavailable } from "../../../src/ports/event-log.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { DamagedLog, sqliteLog } from "../../../src/storage/sqlite/index.ts";
import type { Random } from "../../../src/testing/event-log/random.ts";
import { copyLog } from "../checks/read-history.ts";
import type { History } from "../checks/read-history.ts";

/** The kinds of damage to a file that no process has open. */
export type Damage = "truncated" | "flipped";

/** The result of a damaged log. */
export interface DamageOutcome {
  /** Whether it was detected: the log was not opened, or a run reported it. */
  readonly noticed: boolean;
  /** Violations: an event that never existed, or an undetected loss. */
  readonly violations: readonly string[];
}

/** Damages a copy of a crashed log, opens it, and compares the readable data with the original. */
export async function damageLog(
  directory: string,
  history: History,
  damage: Damage,
  random: Random,
): Promise<DamageOutcome> {
  const { copy, remove } = copyLog(directory);
  try {
    const done = damageFile(copy, damage, random);
    const strict = await inspect(copy, history, { acceptLoss: false });
    const lost = strict.refused ? await inspect(copy, history, { acceptLoss: true }) : strict;
    const violations = [...strict.violations, ...(lost === strict ? [] : lost.violations)];
    return { noticed: strict.noticed, violations: violations.map((what) => `${done}: ${what}`) };
  } finally {
    remove();
  }
}

/** Truncates a file or flips one bit of it. Returns a description. */
function damageFile(directory: string, damage: Damage, random: Random): string {
  const names = ["log.db", "log.db-wal", "head"].filter((name) => sizeOf(join(directory, name)) > 0);
  const name = names[random.below(names.length)] ?? "log.db";
  const path = join(directory, name);
  const at = random.below(sizeOf(path));
  if (damage === "truncated") {
    truncateSync(path, at);
    return `${name} cut at ${at}`;
  }
  const file = openSync(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    const bit = random.below(8);
    writeSync(file, Buffer.from([(byte[0] ?? 0) ^ (1 << bit)]), 0, 1, at);
    return `${name} with bit ${bit} of byte ${at} of ${fstatSync(file).size} changed`;
  } finally {
    closeSync(file);
  }
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

interface Inspection {
  readonly refused: boolean;
  readonly noticed: boolean;
  readonly violations: readonly string[];
}

async function inspect(
  directory: string,
  history: History,
  { acceptLoss }: { readonly acceptLoss: boolean },
): Promise<Inspection> {
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
