import type { RequestQuery, RunQuery, WaitQuery } from "../../../ports/log-queries.ts";
import { checkNoCursor, positionOf, waitPositionOf } from "../../shared/lists.ts";
import { RUN_PHASES } from "../format/schema.ts";

/** The conditions and the order of a list. */
export interface ListSql {
  readonly where: string;
  readonly order: string;
  readonly values: readonly (string | number)[];
}

/** Each combination of filters is its own SQL text, so that SQLite uses the matching index. */
export function toListSql(query: RunQuery): ListSql {
  const { agent, status, oldestFirst = false, byCreation = false } = query;
  if (byCreation) checkNoCursor(query);
  const position = positionOf(query);
  const conditions = ["removed = 0"];
  const values: (string | number)[] = [];
  if (byCreation) conditions.push("agent <> ''");
  if (agent !== undefined) {
    conditions.push("agent = ?");
    values.push(agent);
  }
  if (status !== undefined) {
    conditions.push(status === "idle" ? "status = ?" : "status > 0 AND status = ?");
    values.push(RUN_PHASES.indexOf(status));
  }
  if (position !== undefined) {
    const { updatedAt, runId } = position;
    conditions.push(
      oldestFirst
        ? "updated >= ? AND (updated > ? OR run_id < ?)"
        : "updated <= ? AND (updated < ? OR run_id > ?)",
    );
    values.push(updatedAt, updatedAt, runId);
  }
  const order = oldestFirst ? "updated, run_id DESC" : "updated DESC, run_id";
  return { where: conditions.join(" AND "), order: byCreation ? "rid" : order, values };
}

export function toWaitsSql(query: WaitQuery): ListSql {
  const { agent, runId, requestId } = query;
  const after = waitPositionOf(query);
  const conditions = ["removed = 0"];
  const values: (string | number)[] = [];
  if (agent !== undefined) {
    conditions.push("agent = ?");
    values.push(agent);
  }
  if (runId !== undefined) {
    conditions.push("wait.rid = (SELECT rid FROM run WHERE run_id = ?)");
    values.push(runId);
  }
  if (requestId !== undefined) {
    conditions.push("request_id = ?");
    values.push(requestId);
  }
  if (after !== undefined) {
    conditions.push("opened >= ? AND (opened, run_id, id) > (?, ?, ?)");
    values.push(after.openedAt, after.openedAt, after.runId, after.waitId);
  }
  return { where: conditions.join(" AND "), order: "opened, run_id, id", values };
}

export function toRequestsSql({ runId, oldestFirst = false, after, removed = false }: RequestQuery): ListSql {
  const [direction, behind] = oldestFirst ? ["ASC", ">"] : ["DESC", "<"];
  const conditions = ["run_id = ?"];
  const values: (string | number)[] = [runId];
  if (!removed) conditions.push("removed = 0");
  if (after !== undefined) {
    conditions.push(`(accepted_n, accepted_after, request_id) ${behind}
      (SELECT accepted_n, accepted_after, request_id FROM request WHERE request_id = ?)`);
    values.push(after);
  }
  const order = ["accepted_n", "accepted_after", "request_id"]
    .map((column) => `${column} ${direction}`)
    .join();
  return { where: conditions.join(" AND "), order, values };
}
