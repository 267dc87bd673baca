import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { sha256 } from "../../shared/sha256.ts";

/** The agent name of hidden runs: the run contains only a configuration, or is incomplete. */
export const NO_AGENT = "";

/** The run whose log contains the configuration of an agent; it is never listed. */
export function configRunId(agent: string): RunId {
  return `${PREFIX}${agent}` as RunId;
}

const PREFIX = "config-";

/** The id of a new run. */
export function newRunId({ newId }: Pick<Environment, "newId">): RunId {
  return `${RUN_PREFIX}${newId()}` as RunId;
}

/** The id of a new run that takes the name of another one. */
export function newRunIdBeside(
  environment: Pick<Environment, "newId">,
  log: Pick<EventLog, "isBeside">,
  other: RunId,
): RunId {
  for (;;) {
    const runId = newRunId(environment);
    if (log.isBeside?.(runId, other) !== false) return runId;
  }
}

const RUN_PREFIX = "run_";

/** Whether an id can be that of a run; the ids of requests, which clients choose, mostly cannot. */
export function mayBeRun(id: string): boolean {
  return id.startsWith(RUN_PREFIX) || id.startsWith(PREFIX);
}

/** Whether a run contains the configuration of an agent. */
export function isConfigRun(runId: RunId): boolean {
  return runId.startsWith(PREFIX);
}

/** Whether a run is hidden from clients. */
export function isHidden({ agent }: { readonly agent: string }): boolean {
  return agent === NO_AGENT;
}

/** The metadata of a run whose removal has begun. */
export const REMOVING: JsonObject = { removing: true };

/** The same for a removal that leaves nothing in the audit trail. */
export const ERASING: JsonObject = { removing: true, erasing: true };

/** Whether a run was removed, or its removal has begun. */
export function isLeaving(run: {
  readonly agent: string;
  readonly metadata: JsonObject;
  readonly removed?: boolean;
}): boolean {
  return run.removed === true || (isHidden(run) && run.metadata["removing"] === true);
}

/** Whether a run is hidden because its copy or removal is running or was interrupted. */
export function isUnfinished(run: { readonly runId: RunId; readonly agent: string }): boolean {
  return isHidden(run) && !isConfigRun(run.runId);
}

/** The name of the agent whose runs remember receivers outside and deliver to them. */
export const WEBHOOK_AGENT = "webhook";

/** The key of the run of that agent which remembers the receivers of a request. */
export async function receiversKey(requestId: RequestId): Promise<string> {
  return `push:${await sha256(requestId)}`;
}
