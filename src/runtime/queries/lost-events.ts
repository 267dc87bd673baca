import { AgentError } from "../../errors.ts";
import type { RunId } from "../../protocol/ids.ts";

/** The error for a reader that has got an event which the log does not have any more. */
export function toLost(runId: RunId, head: number, seen: number): AgentError {
  return new AgentError(
    "conflict",
    `run ${runId} has ${head} events, and this reader has got event ${seen}: the log has lost events`,
    { hint: "drop the events of this run that you have, and read it from the beginning with since=0" },
  );
}
