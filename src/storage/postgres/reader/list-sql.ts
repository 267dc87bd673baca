import type { RunQuery, WaitQuery } from "../../../ports/log-queries.ts";
import { checkNoCursor, positionOf, waitPositionOf } from "../../shared/lists.ts";
import type { Value } from "../connection/database.ts";
import { RUN_PHASES } from "../format.ts";

/** Conditions of a query, with their values as `$1`, `$2` … */
export class Conditions {
  readonly values: Value[] = [];
  readonly #texts: string[];

  constructor(first: string) {
    this.#texts = [first];
  }

  /** Adds a condition in which each `?` stands for a value. */
  add(text: string, ...values: readonly Value[]): void {
    let index = 0;
    this.#texts.push(text.replaceAll("?", () => this.value(values[index++] ?? null)));
  }

  /** Adds a value outside the conditions. */
  value(value: Value): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  get text(): string {
    return this.#texts.join(" AND ");
  }
}

/** The conditions and the order of a list of runs. */
export function toListSql(query: RunQuery): { readonly where: Conditions; readonly order: string } {
  const { agent, status, oldestFirst = false, byCreation = false } = query;
  if (byCreation) checkNoCursor(query);
  const position = positionOf(query);
  const where = new Conditions("stored AND NOT removed");
  if (byCreation) where.add("agent <> ''");
  if (agent !== undefined) where.add("agent = ?", agent);
  if (status !== undefined) {
    where.add(status === "idle" ? "status = ?" : "status > 0 AND status = ?", RUN_PHASES.indexOf(status));
  }
  if (position !== undefined) {
    const { updatedAt, runId } = position;
    where.add(
      oldestFirst
        ? "updated_at >= ? AND (updated_at > ? OR run.id < ?)"
        : "updated_at <= ? AND (updated_at < ? OR run.id > ?)",
      updatedAt,
      updatedAt,
      runId,
    );
  }
  const order = oldestFirst ? "updated_at, run.id DESC" : "updated_at DESC, run.id";
  return { where, order: byCreation ? "place" : order };
}

/** The conditions of a list of open waits. */
export function toWaitsSql(query: WaitQuery): Conditions {
  const { agent, runId, requestId } = query;
  const after = waitPositionOf(query);
  const where = new Conditions("true");
  if (agent !== undefined) where.add("(SELECT agent FROM troupe.run WHERE run.id = wait.run) = ?", agent);
  if (runId !== undefined) where.add("run = ?", runId);
  if (requestId !== undefined) where.add("request = ?", requestId);
  if (after !== undefined)
    where.add("(opened_at, run, id) > (?, ?, ?)", after.openedAt, after.runId, after.waitId);
  return where;
}
