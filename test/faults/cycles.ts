import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../src/testing/event-log/random.ts";
import type { Random } from "../../src/testing/event-log/random.ts";
import { damageLog } from "./disk/damage.ts";
import type { Damage } from "./disk/damage.ts";
import type { Fault } from "./faults.ts";
import { readHistory } from "./checks/read-history.ts";
import { Session } from "./session.ts";
import type { FaultTable } from "./fault-table.ts";

/** Rows of the table that are not faults. */
export const rows = {
  healed: "everything ends afterwards",
  truncated: "a file of the log is cut short",
  flipped: "a bit of the log is flipped",
} as const;

/** Creates a list of faults according to their shares, in random order. */
export function planFaults(faults: readonly Fault[], kills: number, random: Random): Fault[] {
  const plan = faults.flatMap((fault) =>
    Array.from({ length: Math.max(1, Math.round((kills * fault.share) / 100)) }, () => fault),
  );
  for (let index = plan.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [plan[index], plan[other]] = [plan[other] as Fault, plan[index] as Fault];
  }
  return plan;
}

/**
 * Applies some faults to the servers of one directory, with all invariants checked after each, and then lets
 * everything end. Damages copies of each fault's directory a number of times.
 */
export async function runSession(
  faults: readonly Fault[],
  {
    seed,
    faultTable,
    damages,
  }: { readonly seed: number; readonly faultTable: FaultTable; readonly damages: number },
): Promise<void> {
  const random = createRandom(seed);
  await using session = new Session({ seed });
  for (const fault of faults) {
    const wrong = await fault.happen(session, random);
    const violations = await session.verify();
    // A process that did not reach its kill point in time was killed at a random moment.
    faultTable.add(wrong === undefined ? "kill -9 at a random moment" : fault.name, seed, [
      ...(wrong ?? []),
      ...violations,
    ]);
    if (damages > 0) await damage(session, { seed, faultTable, damages, random });
  }
  faultTable.add(rows.healed, seed, await session.finish());
}

async function damage(
  session: Session,
  {
    seed,
    faultTable,
    damages,
    random,
  }: { seed: number; faultTable: FaultTable; damages: number; random: Random },
): Promise<void> {
  // A server that was killed before it had a log left nothing to damage.
  if (!existsSync(join(session.log, "log.db"))) return;
  const history = await readHistory(session.log);
  for (const kind of ["truncated", "flipped"] satisfies Damage[]) {
    for (let cycle = 0; cycle < damages; cycle += 1) {
      const { violations } = await damageLog(session.log, history, kind, random);
      faultTable.add(rows[kind], seed, violations);
    }
  }
}
