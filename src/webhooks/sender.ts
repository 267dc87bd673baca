import { AgentError, isInstance } from "../errors.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";

/** The runtime with the runs of one owner; without an owner, with all runs. */
export function seenBy(runtime: Runtime, owner: string | undefined): Runtime {
  return owner === undefined ? runtime : runtime.as({ ...SENDER, owner });
}

/** Whether a runtime sees a run. */
export async function canSee(runtime: Runtime, runId: RunId): Promise<boolean> {
  try {
    await runtime.run(runId);
    return true;
  } catch (thrown) {
    if (isInstance(thrown, AgentError) && thrown.code === "not_found") return false;
    throw thrown;
  }
}

const SENDER = { id: "webhooks", roles: ["user"] };
