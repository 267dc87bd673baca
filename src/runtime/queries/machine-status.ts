import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import { depthOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { EventOf } from "../../protocol/events/event-schemas.ts";
import type { RequestStatus } from "../../protocol/answers/status.ts";
import type { Agent } from "../agent/agent.ts";
import { acceptedBy } from "../agent/accepted-operations.ts";
import { findLast } from "./find-last.ts";

/** The state of the machine that a request runs, as of its newest event, and the operations that it takes now. */
export async function machineStatus(
  log: EventLog,
  entry: RequestEntry,
  { machine, operations }: Agent,
): Promise<Pick<RequestStatus, "state" | "accepts">> {
  if (machine === undefined) return {};
  const { statechart } = machine;
  const change = await newestChange(log, entry);
  if (change === undefined) return {};
  const { value: state, chart, status } = change;
  // A chart that has changed since then says nothing about this state.
  const isOpen = entry.phase !== "completed" && status === "active" && chart === statechart.hash;
  return { state, ...(isOpen && { accepts: acceptedBy(statechart, state, Object.keys(operations)) }) };
}

/** The newest StateChanged of the requested agent's machine. */
async function newestChange(
  log: EventLog,
  { runId, requestId, started, completed }: RequestEntry,
): Promise<EventOf<"StateChanged"> | undefined> {
  if (started === undefined) return undefined;
  const isOfAgent = (text: string): boolean =>
    typeOf(text) === "StateChanged" &&
    depthOf(text) === 0 &&
    requestIdOf(text) === requestId &&
    // Not the state of a machine inside the agent's machine.
    toChange(text).machine === undefined;
  const found = await findLast(log, runId, isOfAgent, { from: started, to: completed });
  return found && toChange(found.text);
}

function toChange(text: string): EventOf<"StateChanged"> {
  return JSON.parse(text) as EventOf<"StateChanged">;
}
