import type { Batch, RequestMark, RunRow } from "../../ports/log-batch.ts";
import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import type { AuditMark } from "../../ports/audit.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { SpentEntry } from "../../ports/spending.ts";
import { STATISTICS_KINDS } from "../../ports/statistics.ts";
import type { StatisticsEntry } from "../../ports/statistics.ts";
import { toOwnedKey, toSpender } from "../shared/owned-keys.ts";
import type { OwnedRun } from "./claims.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "./dialect.ts";

/**
 * What an append changes beside its events and records, as an engine writes it: JSON values are texts, and phases and kinds
 * are their indexes. `null` means unchanged.
 */
export interface Changes {
  readonly run?: RowChange;
  /** One for each request. */
  readonly requests?: readonly RequestChange[];
  readonly references?: readonly (readonly [thing: string, dropped: boolean])[];
  readonly waits?: readonly (readonly [waitId: number, request: string, openedAt: number, closed: boolean])[];
  readonly outbox?: readonly (readonly [requestId: RequestId, kind: number, event: number, done: boolean])[];
  readonly schedules?: readonly (readonly [id: string, due: number | null, data: string | null])[];
  readonly alias?: readonly [agent: string, name: string, from: RunId | null];
  readonly audit?: { readonly owner: string; readonly entries: readonly AuditChange[] };
  readonly spent?: readonly SpentChange[];
  readonly statistics?: readonly StatisticsChange[];
  readonly snapshot?: string;
  readonly base?: readonly [head: number, records: number, data: string];
}

export type SpentChange = readonly [
  /** The owner, or one of its agents. */
  spender: string,
  day: number,
  tokens: number,
  cost: number,
  raisedTokens: number,
  raisedCost: number,
];

export function encodeSpent({
  day,
  tokens,
  cost,
  raisedTokens,
  raisedCost,
  ...key
}: SpentEntry): SpentChange {
  return [toSpender(key), day, tokens, cost, raisedTokens, raisedCost];
}

/** The key, a run, and the numbers, the last of which are those of the durations. */
export type StatisticsChange = readonly [
  hour: number,
  owner: string,
  kind: number,
  agent: string,
  name: string,
  outcome: string,
  run: RunId | null,
  count: number,
  ms: number,
  inputTokens: number,
  cachedTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  cost: number,
  unknownCosts: number,
  ...durations: number[],
];

export function encodeStatistics(entry: StatisticsEntry): StatisticsChange {
  return [
    entry.hour,
    entry.owner,
    STATISTICS_KINDS.indexOf(entry.kind),
    entry.agent,
    entry.name,
    entry.outcome,
    entry.runId ?? null,
    entry.count,
    entry.ms,
    entry.inputTokens,
    entry.cachedTokens,
    entry.outputTokens,
    entry.reasoningTokens,
    entry.cost,
    entry.unknownCosts,
    ...entry.durations,
  ];
}

export type AuditChange = readonly [
  at: number,
  action: number,
  byId: string,
  byName: string | null,
  request: RequestId | null,
  event: number | null,
  detail: string | null,
];

export function encodeAudit({ at, action, by, requestId, event, detail }: AuditMark): AuditChange {
  return [
    at,
    AUDIT_ACTIONS.indexOf(action),
    by.id,
    by.name ?? null,
    requestId ?? null,
    event ?? null,
    detail ?? null,
  ];
}

export type RowChange = readonly [
  agent: string,
  status: number,
  createdAt: number,
  updatedAt: number,
  turns: number,
  /** With its owner. */
  started: string | null,
  metadata: string | null,
  initialInput: string | null,
  /** `null` as a text for none. */
  lastTurn: string | null,
  usage: string | null,
  /** Whether the run has no row yet. */
  isNew: boolean,
  owner: string,
];

export type RequestChange = readonly [
  /** With its owner. */
  request: string,
  phase: number,
  createdAt: number | null,
  acceptedN: number | null,
  acceptedAfter: number | null,
  started: number | null,
  segment: number | null,
  completed: number | null,
  /** 0 if the request has no wake time any more. */
  wakeAt: number | null,
  /** The asks that it is parked on, as JSON. */
  rests: string | null,
  /** JSON; empty if the request works again. */
  waitingFor: string | null,
];

/** Encodes the changes of an append; `null` if it has none. */
export function encodeChanges(
  known: OwnedRun,
  {
    run,
    requests,
    references,
    waits,
    outbox,
    schedules,
    alias,
    audit,
    spent,
    statistics,
    snapshot,
    base,
  }: Batch,
): Changes | null {
  if (
    run === undefined &&
    requests === undefined &&
    references === undefined &&
    waits === undefined &&
    outbox === undefined &&
    schedules === undefined &&
    alias === undefined &&
    audit === undefined &&
    spent === undefined &&
    statistics === undefined &&
    snapshot === undefined &&
    base === undefined
  )
    return null;
  const owner = ownerOf(run ?? known.row);
  return {
    ...(run && { run: encodeRow(known, run, owner) }),
    ...(requests && { requests: mergeMarks(requests).map((mark) => encodeMark(mark, owner)) }),
    ...(references && {
      references: references.map(({ thing, dropped = false }) => [thing, dropped] as const),
    }),
    ...(waits && {
      waits: waits.map(
        ({ waitId, requestId, openedAt, closed = false }) =>
          [waitId, toOwnedKey(requestId, owner), openedAt, closed] as const,
      ),
    }),
    ...(outbox && {
      outbox: outbox.map(
        ({ requestId, kind, event, done = false }) =>
          [requestId, OUTBOX_KINDS.indexOf(kind), event, done] as const,
      ),
    }),
    ...(schedules && {
      schedules: schedules.map(
        ({ id, due, data }) =>
          [
            id,
            due === undefined ? null : Math.ceil(due),
            data === undefined ? null : JSON.stringify(data),
          ] as const,
      ),
    }),
    ...(alias && { alias: [toOwnedKey(alias.agent, alias.owner), alias.name, alias.from ?? null] as const }),
    ...(audit && { audit: { owner, entries: audit.map(encodeAudit) } }),
    ...(spent && {
      spent: spent.map((mark) => encodeSpent({ ...mark, owner })),
    }),
    ...(statistics && { statistics: statistics.map(encodeStatistics) }),
    ...(snapshot !== undefined && { snapshot: JSON.stringify(snapshot) }),
    ...(base && { base: [base.head, base.records, JSON.stringify(base.data)] as const }),
  };
}

/** The JSON values are immutable, so the same object means the same JSON. */
function encodeRow({ row, stored }: OwnedRun, next: RunRow, owner: string): RowChange {
  const isNew = !stored;
  const json = (name: "metadata" | "initialInput" | "lastTurn" | "usage"): string | null =>
    isNew || next[name] !== row[name] ? JSON.stringify(next[name] ?? null) : null;
  return [
    next.agent,
    RUN_PHASES.indexOf(next.status),
    next.createdAt,
    next.updatedAt,
    next.turns,
    next.started === undefined ? null : toOwnedKey(next.started, owner),
    json("metadata"),
    json("initialInput"),
    json("lastTurn"),
    json("usage"),
    isNew,
    owner,
  ];
}

/** Merges the marks of each request. */
function mergeMarks(marks: readonly RequestMark[]): readonly RequestMark[] {
  if (marks.length === 1) return marks;
  const merged = new Map<RequestId, RequestMark>();
  for (const mark of marks) {
    const earlier = merged.get(mark.requestId);
    merged.set(mark.requestId, earlier === undefined ? mark : { ...earlier, ...mark });
  }
  return [...merged.values()];
}

/** A completed request has no wake time, is parked on nothing and waits for nothing. */
function encodeMark(mark: RequestMark, owner: string): RequestChange {
  const isOver = mark.phase === "completed";
  const { wakeAt, parkedOn, waitingFor } = mark;
  return [
    toOwnedKey(mark.requestId, owner),
    REQUEST_PHASES.indexOf(mark.phase),
    mark.createdAt ?? null,
    mark.accepted?.n ?? null,
    mark.accepted?.after ?? null,
    mark.started ?? null,
    mark.segment ?? null,
    mark.completed ?? null,
    isOver ? 0 : wakeAt === undefined ? null : Math.ceil(wakeAt),
    isOver ? "[]" : parkedOn === undefined ? null : JSON.stringify(parkedOn),
    isOver || waitingFor === null ? "" : waitingFor === undefined ? null : JSON.stringify(waitingFor),
  ];
}
