import type { AuditEntry } from "../../ports/audit.ts";
import type { By } from "../../protocol/actors.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** An entry of the audit trail on the wire. */
export interface AuditRow {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly owner: string;
  readonly by: By;
  readonly action: string;
  readonly agent?: string;
  readonly run_id?: RunId;
  readonly request_id?: RequestId;
  /** The id of the event of the run that has the content. */
  readonly event?: number;
  readonly detail?: string;
  /** How many times it happened, if more than once. */
  readonly count?: number;
}

export function toAuditRow(entry: AuditEntry): AuditRow {
  const { at, owner, by, action, agent, runId, requestId, event, detail, count } = entry;
  return {
    at: new Date(at).toISOString(),
    owner,
    by,
    action,
    ...(agent !== undefined && { agent }),
    ...(runId !== undefined && { run_id: runId }),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(event !== undefined && { event }),
    ...(detail !== undefined && { detail }),
    ...(count !== undefined && count > 1 && { count }),
  };
}
