import type { RequestEntry, RunEntry } from "../../../ports/log-entries.ts";
import type { RunRequest, RunSummary } from "../../../protocol/answers/status.ts";
import type { ForkedFrom } from "../../../protocol/events/events.ts";
import type { RunDetails } from "../../lists.ts";

/** The row of a run in the protocol's form. */
export function toRow(run: RunEntry): RunSummary {
  const forkedFrom = run.metadata["forked_from"] as unknown as ForkedFrom | undefined;
  return {
    run_id: run.runId,
    agent: run.agent,
    status: run.status,
    created_at: new Date(run.createdAt).toISOString(),
    updated_at: new Date(run.updatedAt).toISOString(),
    initial_input: run.initialInput,
    turns: run.turns,
    ...(run.alias !== undefined && { key: run.alias }),
    ...(forkedFrom && { forked_from: forkedFrom }),
    last_event_id: run.head,
    ...(run.lastTurn && { last_turn: run.lastTurn }),
    open_waits: run.openWaits ?? 0,
    queued: run.queued ?? 0,
    ...(run.wakeAt !== undefined && { wake_at: new Date(run.wakeAt).toISOString() }),
    ...(run.usage && { usage: run.usage }),
  };
}

/** The row of a run with the metadata that it was created with. */
export function toDetails(run: RunEntry): RunDetails {
  const { forked_from: _, ...metadata } = run.metadata;
  return { ...toRow(run), metadata };
}

/** A request of a run in the protocol's form. */
export function toRunRequest({ requestId, phase, createdAt, started, completed }: RequestEntry): RunRequest {
  return {
    request_id: requestId,
    status: phase,
    created_at: new Date(createdAt).toISOString(),
    ...(started !== undefined && { started }),
    ...(completed !== undefined && { completed }),
  };
}
