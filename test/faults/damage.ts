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
import { AgentError } from "../../src/errors.ts";
import { Unavailable } from "../../src/ports/event-log.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import { DamagedLog, sqliteLog } from "../../src/storage/sqlite/index.ts";
import type { Random } from "../../src/testing/event-log/random.ts";
import { copyLog } from "./read-history.ts";
import type { History } from "./read-history.ts";

/** What can happen to a file while no process has it open. */
export type Damage = "truncated" | "flipped";

/** What became of a damaged log. */
export interface DamageOutcome {
  /** Whether it was noticed: the log was not opened, or did not give a run. */
  readonly noticed: boolean;
  /** What must not be: an event that never was, or a loss that nobody is told of. */
  readonly violations: readonly string[];
}

/** Damages a copy of a log that a crash left, opens it, and holds what can be read to what was there. */
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

/** Cuts a file short or changes one bit of it; says what was done. */
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
        violations.push(`run ${runId} has ${read.events.length} of ${promised} events, and nobody is told`);
      }
    }
    return { refused: false, noticed, violations };
  } finally {
    await log.close();
  }
}

/** Reads the events of a run; there are none when the log says that it is damaged, and a fault when it says something else. */
async function readEvents(
  log: EventLog,
  runId: string,
): Promise<{ readonly events?: readonly string[]; readonly fault?: string }> {
  try {
    return { events: (await log.read(runId, { after: 0, records: true })).events };
  } catch (error) {
    return error instanceof Unavailable ? {} : { fault: String(error) };
  }
}
