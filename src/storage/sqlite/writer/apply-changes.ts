import { toChecksum } from "../format/chain.ts";
import type { ChunkPosition } from "../format/chain.ts";
import { OUTBOX_KINDS, REQUEST_PHASES } from "../format/schema.ts";
import type { Changes } from "./message.ts";
import type { Statements } from "./statements.ts";

/**
 * Writes what an append changes besides its events: the rows of its run and requests, references, its alias and its
 * snapshot. The position is that of the run after the append.
 */
export function applyChanges(
  {
    addRun,
    changeRun,
    giveRun,
    addRequest,
    changeRequest,
    addAlias,
    addReference,
    dropReference,
    addWait,
    dropWait,
    dropWaits,
    addOutbox,
    dropOutbox,
    setSnapshot,
  }: Statements,
  position: ChunkPosition,
  { run, requests, references, waits, outbox, alias, snapshot }: Changes,
): void {
  const { rid, last: head, records } = position;
  if (run?.runId !== undefined) {
    const { runId, owner, status, updated, turns, started, metadata, initialInput, lastTurn, usage } = run;
    const { agent, created } = owner ?? { agent: "", created: 0 };
    const json = [metadata ?? "{}", initialInput ?? "null"] as const;
    addRun.run(
      rid,
      runId,
      head,
      agent,
      status,
      created,
      updated,
      turns,
      ...json,
      started,
      lastTurn ?? null,
      usage ?? null,
    );
  } else if (run !== undefined) {
    const { owner, status, updated, turns, started, metadata, initialInput, lastTurn, usage } = run;
    const json = [metadata ?? null, initialInput ?? null, lastTurn ?? null, usage ?? null] as const;
    changeRun.run(head, status, updated, turns, started, ...json, rid);
    if (owner !== undefined) giveRun.run(owner.agent, owner.created, rid);
  }
  for (const { waitId, requestId, openedAt, closed = false } of waits ?? []) {
    if (closed) dropWait.run(rid, waitId);
    else addWait.run(rid, waitId, requestId, openedAt);
  }
  for (const [requestId, isKnown, phase, created, n, after, ...events] of requests ?? []) {
    // One that is not known can be of an earlier process.
    const isNew =
      !isKnown &&
      addRequest.run(requestId, rid, phase, created ?? 0, n ?? 0, after ?? 0, ...events).changes > 0;
    if (!isNew) changeRequest.run(phase, created, n, after, ...events, requestId);
    if (phase === COMPLETED) dropWaits.run(rid, requestId);
  }
  for (const { thing, dropped } of references ?? []) (dropped ? dropReference : addReference).run(thing, rid);
  for (const { requestId, kind, event, done = false } of outbox ?? []) {
    const at = OUTBOX_KINDS.indexOf(kind);
    if (done) dropOutbox.run(rid, requestId, at);
    else addOutbox.run(rid, event, requestId, at);
  }
  if (alias !== undefined) addAlias.run(alias.agent, alias.name, rid);
  if (snapshot !== undefined) {
    setSnapshot.run(rid, head, records, toChecksum(position, NOTHING, snapshot), snapshot);
  }
}

const COMPLETED = REQUEST_PHASES.indexOf("completed");

const NOTHING = new Uint8Array();
