import { AgentError } from "../../errors.ts";
import type { RunEntry, RunQuery } from "../../ports/event-log.ts";
import type { RunId } from "../../protocol/ids.ts";

/** A place in the list of runs: after this run. */
export interface ListPosition {
  readonly updatedAt: number;
  readonly runId: string;
}

/** The order of the list of runs: most recently updated first, then by id. */
export function compareRuns(a: ListPosition, b: ListPosition): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

/** Writes a place in the list as a cursor. */
export function toListCursor({ updatedAt, runId }: ListPosition): string {
  return `${updatedAt}.${runId}`;
}

/** Reads a cursor of the list; `invalid_request` for a text that is none. */
function parseListCursor(cursor: string): ListPosition {
  const [, updatedAt, runId] = /^(\d{1,16})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? [];
  if (updatedAt === undefined || runId === undefined) {
    throw new AgentError("invalid_request", "the cursor is not one that the list of runs gave");
  }
  return { updatedAt: Number(updatedAt), runId };
}

/** Where in the list a query begins; `undefined` for its beginning. */
export function positionOf({ cursor }: RunQuery): ListPosition | undefined {
  return cursor === undefined ? undefined : parseListCursor(cursor);
}

/** The row of a run that was removed. */
export function toRemovedEntry(runId: RunId): RunEntry {
  return {
    runId,
    head: 0,
    agent: "",
    status: "idle",
    createdAt: 0,
    updatedAt: 0,
    turns: 0,
    initialInput: null,
    metadata: {},
    removed: true,
  };
}
