import type { CallId } from "../../protocol/ids.ts";
import { branchedCall, callAbove, scopeOf } from "../journal/call-id.ts";
import type { TurnJournal } from "./turn-journal.ts";
import type { MachineState } from "../journal/records.ts";

/** The logged outcomes of a turn's calls, and the actors that count their calls themselves. */
export type LoggedEnds = Pick<TurnJournal, "outcomes" | "machines" | "remote">;

/** Whether replayed code will never ask for a call, so that its log entries are skipped. */
export function isPastCall(callId: CallId, { outcomes, machines, remote }: LoggedEnds): boolean {
  if (isUnderEnded(callId, outcomes)) return true;
  const scope = scopeOf(callId);
  // A machine counts the calls whose attempts are branches.
  const branched = branchedCall(scope);
  if (branched !== undefined) return isPastCall(branched, { outcomes, machines, remote });
  const machine = machines.get(scope);
  if (machine) return !hasOpen(machine, callId);
  const elsewhere = remote.get(scope);
  return elsewhere !== undefined && !elsewhere.state.waits.includes(callId);
}

/** Whether a call that contains this one has ended, so that nothing under it runs again. */
function isUnderEnded(callId: CallId, outcomes: TurnJournal["outcomes"]): boolean {
  for (let above = callAbove(callId); above !== undefined; above = callAbove(above)) {
    if (outcomes.has(above)) return true;
  }
  return false;
}

function hasOpen({ waits, timers, promises }: MachineState, callId: CallId): boolean {
  return (
    Object.values(waits).includes(callId) ||
    Object.values(promises).includes(callId) ||
    timers.some((timer) => timer.callId === callId)
  );
}
