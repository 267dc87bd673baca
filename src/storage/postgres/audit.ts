import type { AuditTrail, NewAuditEntry, RemovedEntries } from "../../ports/audit.ts";
import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import type { RunId } from "../../protocol/ids.ts";
import { encodeAudit } from "../sql/changes.ts";
import type { Database } from "./connection/database.ts";

/** The audit trail in its table. `list` answers a query. */
export function auditIn(database: Database, list: AuditTrail["list"]): AuditTrail {
  return {
    list,
    async add(entries) {
      if (entries.length > 0) await database.ask(ADD, [JSON.stringify(entries.map(toAdded))]);
    },
    async remove(which) {
      const [text, values] = toRemoval(which);
      await database.ask(text, values);
    },
  };
}

/** The agents of runs, as far as a database has them and they are not removed. */
export async function findAgents(
  database: Database,
  runIds: readonly RunId[],
): Promise<ReadonlyMap<RunId, string>> {
  const rows = await database.ask<{ id: RunId; agent: string }>(
    "SELECT id, agent FROM troupe.run WHERE id = ANY ($1) AND agent <> ''",
    [runIds],
  );
  return new Map(rows.map(({ id, agent }) => [id, agent]));
}

function toAdded({ owner, runId, count = 1, ...mark }: NewAuditEntry): readonly unknown[] {
  return [...encodeAudit(mark), owner, runId ?? null, count];
}

/** The statement can be sent again after a lost answer: an entry that is there is not added. */
const ADD = `
  INSERT INTO troupe.audit (at, action, by_id, by_name, request, event, detail, owner, run, times)
    SELECT * FROM (
      SELECT (value->>0)::bigint AS at, (value->>1)::smallint AS action, value->>2 AS by_id, value->>3 AS by_name,
          value->>4 AS request, (value->>5)::bigint AS event, value->>6 AS detail, value->>7 AS owner, value->>8 AS run,
          (value->>9)::integer AS times
        FROM jsonb_array_elements($1::jsonb)
    ) AS added
    WHERE NOT EXISTS (
      SELECT FROM troupe.audit AS known
        WHERE known.by_id = added.by_id AND known.at = added.at AND known.action = added.action
          AND known.run IS NOT DISTINCT FROM added.run AND known.request IS NOT DISTINCT FROM added.request
          AND known.detail IS NOT DISTINCT FROM added.detail)`;

function toRemoval(which: RemovedEntries): readonly [text: string, values: readonly (string | number)[]] {
  if ("before" in which) return ["DELETE FROM troupe.audit WHERE at < $1", [which.before]];
  if ("owner" in which) return ["DELETE FROM troupe.audit WHERE owner = $1", [which.owner]];
  return [
    `DELETE FROM troupe.audit USING (
      SELECT at, n FROM troupe.audit WHERE action > 0 AND action = $1 ORDER BY at DESC, n DESC OFFSET $2
    ) AS old WHERE audit.at = old.at AND audit.n = old.n`,
    [AUDIT_ACTIONS.indexOf(which.action), which.allButNewest],
  ];
}
