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
import type { Random } from "../../../src/testing/event-log/random.ts";
import { compareLog } from "../checks/compare-log.ts";
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
    const strict = await compareLog(copy, history, { acceptLoss: false });
    const lost = strict.refused ? await compareLog(copy, history, { acceptLoss: true }) : strict;
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
