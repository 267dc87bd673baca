import { AgentError } from "../../errors.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { RunContext } from "../run-context.ts";

/** Throws `conflict` for an idle run that retention keeps, because its agent still needs what only this run has. */
export function checkRemovable({ agents }: RunContext, { runId, agent, key, state }: RunLedger): void {
  if ((state.unread ?? []).length > 0) throw new AgentError("conflict", `run ${runId} has unread messages`);
  const { text } = state.scheduled ?? {};
  const schedules = Object.values((agent && agents.find(agent)?.schedules) || {});
  // A new run would begin the schedule again, and the times that no server has seen would be left out.
  if (schedules.some((schedule) => schedule.key === key && schedule.text === text))
    throw new AgentError("conflict", `run ${runId} has the start of a schedule of agent ${agent ?? ""}`);
}
