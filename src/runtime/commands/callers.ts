import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { Limits } from "../limits.ts";

/**
 * Finds the local agents among the callers of a request, so that calls over other servers count like calls
 * within one turn. Throws `too_deep` for a request that is nested too deep, or whose agent calls itself too
 * often.
 */
export async function findCallers(
  agent: string,
  { caller = [], depth = 0 }: TurnRequest,
  { log, limits }: { readonly log: Pick<EventLog, "run">; readonly limits: Limits },
): Promise<readonly string[]> {
  if (depth > limits.depth)
    throw new AgentError("too_deep", `agent calls are nested more than ${limits.depth} deep`);
  if (caller.length === 0) return [];
  const runs = await Promise.all(caller.map(({ run_id: runId }) => log.run(runId as RunId)));
  const callers = runs.flatMap((run) => (run === undefined ? [] : [run.agent]));
  if (callers.filter((name) => name === agent).length > limits.selfCalls)
    throw new AgentError("too_deep", `${agent} calls itself more than ${limits.selfCalls} deep`);
  return callers;
}
