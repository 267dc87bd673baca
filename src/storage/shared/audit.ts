import { AgentError } from "../../errors.ts";
import type { AuditEntry, AuditPage, AuditQuery } from "../../ports/audit.ts";

/** The place of an entry in the list: by its time, and of those of one time by their order. */
export interface EntryPlace {
  readonly at: number;
  readonly n: number;
}

/** An entry with its place. */
export interface PlacedEntry extends EntryPlace {
  readonly entry: AuditEntry;
}

/** Compares entries, the oldest first. */
export function comparePlaces(a: EntryPlace, b: EntryPlace): number {
  return a.at - b.at || a.n - b.n;
}

/** Makes a page of entries of which one more than the limit was read. */
export function toAuditPage(found: readonly PlacedEntry[], { limit }: AuditQuery): AuditPage {
  const entries = found.slice(0, limit);
  const last = entries.at(-1);
  return {
    entries: entries.map(({ entry }) => entry),
    ...(found.length > limit && last !== undefined && { next: `${last.at}.${last.n}` }),
  };
}

/** The place after which a query starts; `undefined` for the start of the list. */
export function auditPlaceOf({ cursor }: AuditQuery): EntryPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, at, n] = /^(\d{1,16})\.(\d{1,16})$/.exec(cursor) ?? [];
  if (n !== undefined) return { at: Number(at), n: Number(n) };
  throw new AgentError("invalid_request", "the cursor is not one that the audit trail returned");
}
