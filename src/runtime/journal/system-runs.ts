import type { RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** The agent of a run that is shown to nobody: it holds only a configuration, or it is not whole. */
export const NO_AGENT = "";

/** The run in whose log the configuration of an agent is kept; it is listed nowhere. */
export function configRunId(agent: string): RunId {
  return `${PREFIX}${agent}` as RunId;
}

const PREFIX = "config-";

/** Whether a run holds the configuration of an agent. */
export function isConfigRun(runId: RunId): boolean {
  return runId.startsWith(PREFIX);
}

/** Whether a run is one that no client may see. */
export function isHidden({ agent }: { readonly agent: string }): boolean {
  return agent === NO_AGENT;
}

/** The metadata of a run whose removal has begun. */
export const REMOVING: JsonObject = { removing: true };

/** Whether a run was removed, or its removal has begun. */
export function isLeaving(run: {
  readonly agent: string;
  readonly metadata: JsonObject;
  readonly removed?: boolean;
}): boolean {
  return run.removed === true || (isHidden(run) && run.metadata["removing"] === true);
}

/** Whether a run is shown to nobody because it is being copied or removed, or that was cut off. */
export function isUnfinished(run: { readonly runId: RunId; readonly agent: string }): boolean {
  return isHidden(run) && !isConfigRun(run.runId);
}
