import type { RunLedger } from "../activation/run-ledger.ts";
import type { TurnSlot } from "../activation/turn-slot.ts";
import type { LoadedActor, LoadedCall } from "../api.ts";

/** The number of calls of a turn that operators see. */
const SHOWN_CALLS = 1_000;

/** What a run has open, as operators see it; `undefined` for a run without an agent. */
export function toLoadedActor(
  { runId, agent, key, phase, state, started }: RunLedger,
  slot: TurnSlot,
  queued: number,
): LoadedActor | undefined {
  if (agent === undefined) return undefined;
  const calls: LoadedCall[] = [];
  for (const { callId, kind, name } of slot.calls) {
    if (calls.length === SHOWN_CALLS) break;
    calls.push({ callId, kind, name });
  }
  return {
    runId,
    agent,
    ...(key !== undefined && { key }),
    status: phase,
    queued,
    unread: state.unread?.length ?? 0,
    ...(started && { requestId: started.accepted.requestId }),
    calls,
  };
}
