import type { AuditAction, AuditQuery } from "../../ports/audit.ts";
import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import { toAuditRow } from "../../runtime/access/audit-row.ts";
import type { Parsed } from "../../protocol/requests/parse.ts";
import { nextPage, parseName, parseText, parseMoment, queryOf, read } from "../messages/event-query.ts";
import { reply } from "../messages/reply.ts";
import type { ServerHandlers } from "./add-routes.ts";
import { checkId } from "./event-routes.ts";
import type { Host } from "./host.ts";
import { parseLimit } from "./run-routes.ts";

/** The route that shows operators who did what. */
export function auditHandlers({ runtime, mount }: Host): ServerHandlers<"audit"> {
  return {
    async audit(c) {
      const query = queryOf(c);
      const { entries, next } = await runtime.audit.list(toAuditQuery(query));
      const headers =
        next === undefined ? undefined : { link: nextPage(mount.pathOf(c), query, "cursor", next) };
      return reply(c, JSON.stringify(entries.map(toAuditRow)), headers && { headers });
    },
  };
}

const PAGE_DEFAULT = 100;
const PAGE_LIMIT = 1_000;

function toAuditQuery(query: URLSearchParams): AuditQuery {
  const owner = read(query, "owner", parseName);
  const by = read(query, "by", parseText);
  const action = read(query, "action", parseAction);
  const runId = query.get("run_id");
  const from = read(query, "from", parseMoment);
  const before = read(query, "before", parseMoment);
  const cursor = read(query, "cursor", parseName);
  const limit = read(query, "limit", parseLimit) ?? PAGE_DEFAULT;
  return {
    limit: Math.min(limit, PAGE_LIMIT),
    ...(owner !== undefined && { owner }),
    ...(by !== undefined && { by }),
    ...(action !== undefined && { action }),
    ...(runId !== null && { runId: checkId(runId) }),
    ...(from !== undefined && { from }),
    ...(before !== undefined && { before }),
    ...(cursor !== undefined && { cursor }),
  };
}

function parseAction(text: string): Parsed<AuditAction> {
  const action = AUDIT_ACTIONS.find((known) => known === text);
  if (action !== undefined) return { ok: true, value: action };
  return { ok: false, message: `must be one of ${AUDIT_ACTIONS.join(", ")}`, issues: [] };
}
