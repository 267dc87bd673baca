import type { AuditEntry, AuditMark, AuditTrail, NewAuditEntry, RemovedEntries } from "../../ports/audit.ts";
import type { RunId } from "../../protocol/ids.ts";
import { auditPlaceOf, comparePlaces, toAuditPage } from "../shared/audit.ts";
import type { EntryPlace } from "../shared/audit.ts";

interface Stored extends EntryPlace {
  readonly entry: NewAuditEntry;
}

/** The audit trail in memory. `agentOf` finds the agent of a run, unless it is removed. */
export class MemoryAudit implements AuditTrail {
  #entries: Stored[] = [];
  #last = 0;
  readonly #agentOf: (runId: RunId) => string | undefined;

  constructor(agentOf: (runId: RunId) => string | undefined) {
    this.#agentOf = agentOf;
  }

  /** Adds what an append has. */
  note(runId: RunId, owner: string, marks: readonly AuditMark[]): void {
    for (const mark of marks) this.#add({ ...mark, owner, runId });
  }

  add: AuditTrail["add"] = async (entries) => {
    for (const entry of entries) this.#add(entry);
  };

  list: AuditTrail["list"] = async (query) => {
    const {
      owner,
      by,
      action,
      runId,
      from = -Infinity,
      before = Infinity,
      oldestFirst = false,
      limit,
    } = query;
    const place = auditPlaceOf(query);
    const direction = oldestFirst ? 1 : -1;
    const found = this.#entries.filter(
      (stored) =>
        (owner === undefined || stored.entry.owner === owner) &&
        (by === undefined || stored.entry.by.id === by) &&
        (action === undefined || stored.entry.action === action) &&
        (runId === undefined || stored.entry.runId === runId) &&
        stored.at >= from &&
        stored.at < before &&
        (place === undefined || direction * comparePlaces(stored, place) > 0),
    );
    found.sort((a, b) => direction * comparePlaces(a, b));
    const page = found
      .slice(0, limit + 1)
      .map(({ at, n, entry }) => ({ at, n, entry: this.#toEntry(entry) }));
    return toAuditPage(page, query);
  };

  remove: AuditTrail["remove"] = async (which) => {
    const kept = this.#keptOf(which);
    this.#entries = this.#entries.filter(kept);
  };

  /** Removes the entries about a run. */
  erase(runId: RunId): void {
    this.#entries = this.#entries.filter(({ entry }) => entry.runId !== runId);
  }

  #add(entry: NewAuditEntry): void {
    this.#last += 1;
    this.#entries.push({ at: entry.at, n: this.#last, entry });
  }

  #toEntry(entry: NewAuditEntry): AuditEntry {
    const agent = entry.runId === undefined ? undefined : this.#agentOf(entry.runId);
    return { ...entry, ...(agent !== undefined && agent !== "" && { agent }) };
  }

  #keptOf(which: RemovedEntries): (stored: Stored) => boolean {
    if ("before" in which) return ({ at }) => at >= which.before;
    if ("owner" in which) return ({ entry }) => entry.owner !== which.owner;
    const { action, allButNewest } = which;
    const newest = this.#entries
      .filter(({ entry }) => entry.action === action)
      .sort((a, b) => comparePlaces(b, a))
      .slice(0, allButNewest);
    const kept = new Set(newest);
    return (stored) => stored.entry.action !== action || kept.has(stored);
  }
}
