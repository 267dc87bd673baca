import { AgentError } from "../../errors.ts";
import type { WaitEntry, WaitPage } from "../../ports/log-entries.ts";
import type { WaitQuery } from "../../ports/log-queries.ts";

/** A position in the list of open waits: after this wait. */
export type WaitPosition = Pick<WaitEntry, "openedAt" | "runId" | "waitId">;

/** Compares waits in list order: the oldest first, then by run and id. */
export function compareWaits(a: WaitPosition, b: WaitPosition): number {
  if (a.openedAt !== b.openedAt) return a.openedAt - b.openedAt;
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.waitId - b.waitId;
}

/** Makes a page of waits of which one more than the limit was read. */
export function toWaitPage(found: readonly WaitEntry[], { limit }: WaitQuery): WaitPage {
  const waits = found.slice(0, limit);
  const last = waits.at(-1);
  if (found.length <= limit || last === undefined) return { waits };
  return { waits, next: `${last.openedAt}.${last.waitId}.${last.runId}` };
}

/** The position at which a query starts; `undefined` for the start of the list. */
export function waitPositionOf({ cursor }: WaitQuery): WaitPosition | undefined {
  if (cursor === undefined) return undefined;
  const [, openedAt, waitId, runId] = /^(\d{1,16})\.(\d{1,16})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? [];
  if (runId === undefined) {
    throw new AgentError("invalid_request", "the cursor is not one that the list of waits returned");
  }
  return { openedAt: Number(openedAt), waitId: Number(waitId), runId };
}
