import { AgentError } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunQuery } from "../../ports/log-queries.ts";
import type { RunId } from "../../protocol/ids.ts";

/** A position in the list of runs: after this run. */
export interface ListPosition {
  readonly updatedAt: number;
  readonly runId: string;
}

/** Compares runs in list order: most recently updated first, then by id. */
export function compareRuns(a: ListPosition, b: ListPosition): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

/** Encodes a list position as a cursor. */
export function toListCursor({ updatedAt, runId }: ListPosition): string {
  return `${updatedAt}.${runId}`;
}

/** Decodes a cursor of the list; `invalid_request` for an invalid text. */
function parseListCursor(cursor: string): ListPosition {
  const [, updatedAt, runId] = /^(\d{1,16})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? [];
  if (updatedAt === undefined || runId === undefined) {
    throw new AgentError("invalid_request", "the cursor is not one that the list of runs returned");
  }
  return { updatedAt: Number(updatedAt), runId };
}

/** The list position at which a query starts; `undefined` for the start of the list. */
export function positionOf({ cursor }: RunQuery): ListPosition | undefined {
  return cursor === undefined ? undefined : parseListCursor(cursor);
}

/** Refuses a cursor for a list that has none. */
export function checkNoCursor({ cursor }: RunQuery): void {
  if (cursor === undefined) return;
  throw new AgentError("invalid_request", "a list in the order of creation has no cursor", {
    hint: "use an offset",
  });
}

/** The row of a removed run. */
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
