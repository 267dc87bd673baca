import type { By } from "../protocol/actors.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";

/**
 * What principals do. Engines store an action by its index, so that a new one goes to the end. `process` comes first: it is by far
 * the most frequent one, and has no index of its own.
 */
export const AUDIT_ACTIONS = [
  "process",
  "message",
  "answer",
  "cancel",
  "create",
  "configure",
  "fork",
  "remove",
  "end",
  "retry",
  "resend",
  "dismiss",
  "link",
  "erase",
  "create_key",
  "revoke_key",
  "sign_in",
  "sign_out",
  "refuse",
  "resume",
  "schedule",
] as const;

/** What a principal did. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Something that a principal has done to a run, written with the events that it causes. */
export interface AuditMark {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly action: AuditAction;
  readonly by: By;
  /** The request that it is about. */
  readonly requestId?: RequestId;
  /** The id of the event that has its content. */
  readonly event?: number;
  /** What it is about, in a few words. Nothing of a body. */
  readonly detail?: string;
}

/** Something that a principal has done. */
export interface NewAuditEntry extends AuditMark {
  /** Whose thing it is about. */
  readonly owner: string;
  /** The run that it is about. */
  readonly runId?: RunId;
  /** How many times it happened, if several are one entry. */
  readonly count?: number;
}

/** An entry as it is listed. */
export interface AuditEntry extends NewAuditEntry {
  /** The agent of the run, unless it is removed. */
  readonly agent?: string;
}

/** Selects entries. */
export interface AuditQuery {
  /** Only those about things of this owner. */
  readonly owner?: string;
  /** Only those of this principal, by its id. */
  readonly by?: string;
  readonly action?: AuditAction;
  readonly runId?: RunId;
  /** Only those of this time or later, in milliseconds since 1970. */
  readonly from?: number;
  /** Only those before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** Lists the oldest entry first. */
  readonly oldestFirst?: boolean;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of the list of entries. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Which entries are removed: those of an owner, those before a time, or all but the newest of an action. */
export type RemovedEntries =
  | { readonly owner: string }
  | { readonly before: number }
  | { readonly action: AuditAction; readonly allButNewest: number };

/**
 * Who did what. What is done to a run is in the batch that it causes (`Batch.audit`); everything else is added here. The removal of a
 * run leaves its entries, unless it erases them.
 */
export interface AuditTrail {
  /** Adds entries; resolves when they are stored. */
  add(entries: readonly NewAuditEntry[]): Promise<void>;
  /** Lists entries, by default the newest first. */
  list(query: AuditQuery): Promise<AuditPage>;
  remove(which: RemovedEntries): Promise<void>;
}
