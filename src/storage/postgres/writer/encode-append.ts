import type { Batch, RunRow } from "../../../ports/log-batch.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import { encodeBody } from "../../sql/body.ts";
import { encodeMark } from "../../sql/rows.ts";
import { OUTBOX_KINDS, REQUEST_PHASES, RUN_PHASES } from "../format.ts";
import type { OwnedRun } from "./claims.ts";

/** An append as the function of the database takes it. */
export interface EncodedAppend {
  /** What the function takes besides the events, as JSON. */
  readonly item: string;
  /** The events as lines. */
  readonly body: string;
}

export function encodeAppend(run: OwnedRun, batch: Batch): EncodedAppend {
  const { events, records } = batch;
  const encoded = records.length === 0 ? null : JSON.stringify(records);
  const { runId, epoch, appends } = run;
  const item = [
    runId,
    epoch,
    appends,
    countEvents(events),
    records.length,
    encoded,
    encodeChanges(run, batch),
  ];
  return { item: JSON.stringify(item), body: encodeBody(events) };
}

/** What changes besides events and records; `null` if nothing does. */
function encodeChanges(
  known: OwnedRun,
  { run, requests, references, waits, outbox, alias, snapshot }: Batch,
): object | null {
  const changes = {
    ...(run && { run: encodeRow(known, run) }),
    ...(requests && {
      requests: requests.map((mark) => [
        mark.requestId,
        REQUEST_PHASES.indexOf(mark.phase),
        ...encodeMark(mark),
      ]),
    }),
    ...(references && { references: references.map(({ thing, dropped = false }) => [thing, dropped]) }),
    ...(waits && {
      waits: waits.map(({ waitId, requestId, openedAt, closed = false }) => [
        waitId,
        requestId,
        openedAt,
        closed,
      ]),
    }),
    ...(outbox && {
      outbox: outbox.map(({ requestId, kind, event, done = false }) => [
        requestId,
        OUTBOX_KINDS.indexOf(kind),
        event,
        done,
      ]),
    }),
    ...(alias && { alias: [alias.agent, alias.name, alias.from ?? null] }),
    ...(snapshot !== undefined && { snapshot: JSON.stringify(snapshot) }),
  };
  return Object.keys(changes).length === 0 ? null : changes;
}

/** Both JSON values and the newest turn are immutable, so the same object means the same JSON. */
function encodeRow({ row, stored }: OwnedRun, next: RunRow): readonly unknown[] {
  const isNew = !stored;
  const json = (name: "metadata" | "initialInput" | "lastTurn" | "usage"): string | null =>
    isNew || next[name] !== row[name] ? JSON.stringify(next[name] ?? null) : null;
  return [
    next.agent,
    RUN_PHASES.indexOf(next.status),
    next.createdAt,
    next.updatedAt,
    next.turns,
    next.started ?? null,
    json("metadata"),
    json("initialInput"),
    json("lastTurn"),
    json("usage"),
    isNew,
  ];
}
