import type { EventLog } from "../../../src/ports/event-log.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { AcceptedRequest } from "../../../src/runtime/journal/records.ts";
import type { ActorLog } from "./actors.ts";
import { toHistory } from "../history.ts";
import type { History } from "../history.ts";
import { Model } from "../model.ts";
import type { Programs } from "../program.ts";
import { checkInvariants, compareWithPrograms } from "./verify-turn.ts";

/** A turn of an actor that another turn has asked or told. */
export interface ActorTurn {
  readonly requestId: string;
  readonly program: number;
  readonly history: History;
}

/** Reads the logs of all runs. */
export async function readRuns(log: EventLog): Promise<ReadonlyMap<string, ActorLog>> {
  const runs = new Map<string, ActorLog>();
  for (const { runId } of (await log.list({ limit: 500 })).runs) {
    const { events, records } = await log.read(runId, { after: 0, records: true });
    const parsed = toEncoded(events).map((text) => JSON.parse(text) as Event);
    runs.set(runId, { events: parsed, records, removed: false });
  }
  return runs;
}

/** Whether no actor has an open request, and every outcome was delivered. */
export async function isAtRest(log: EventLog): Promise<boolean> {
  if ((await log.outbox({})).length > 0) return false;
  for (const { runId, agent } of (await log.list({ limit: 500 })).runs) {
    if (agent !== "actor") continue;
    const { records } = await log.read(runId, { after: 0, records: true });
    for (const record of records) {
      if (record.type !== "Accepted") continue;
      const { requestId } = record["accepted"] as unknown as AcceptedRequest;
      const { phase } = (await log.lookup(requestId)) ?? {};
      // A turn that began under changed code is held when the change is undone.
      if (phase !== "completed" && phase !== "held") return false;
    }
  }
  return true;
}

/** Whether the code of a turn does not fit its log. */
export async function hasRequestHeld(log: EventLog): Promise<boolean> {
  return (await log.list({ limit: 1, status: "held" })).runs.length > 0;
}

/** Whether a turn is held back until its trial. */
export async function hasHeldTurn(log: EventLog): Promise<boolean> {
  for (const { runId, status } of (await log.list({ limit: 500 })).runs) {
    if (status === "idle") continue;
    const { records } = await log.read(runId, { after: 0, records: true });
    if (records.findLast(({ type }) => type === "Held" || type === "RecoveryStarted")?.type === "Held")
      return true;
  }
  return false;
}

/** The turns of all actors. */
export function readActors(runs: ReadonlyMap<string, ActorLog>): readonly ActorTurn[] {
  return [...runs.values()].flatMap(({ events, records }) =>
    records.flatMap((record): readonly ActorTurn[] => {
      if (record.type !== "Accepted") return [];
      const { requestId, agent, request } = record["accepted"] as unknown as AcceptedRequest;
      if (agent !== "actor") return [];
      const { program } = request.input as { readonly program: number };
      return [{ requestId, program, history: toHistory(events, records, requestId) }];
    }),
  );
}

/** The asks that have ended without an answer, and whose turns worked on for long after that. */
export function findAbandoned(runs: ReadonlyMap<string, ActorLog>): readonly string[] {
  const ended = new Map<string, Event>();
  const faults: string[] = [];
  for (const { events } of runs.values())
    for (const event of events)
      if (event.type === "RequestCompleted" && event.finish_reason !== "canceled")
        ended.set(event.request_id, event);
  for (const [runId, { events }] of runs) {
    for (const call of events) {
      if (call.type !== "ToolCall" || call.mode !== "ask") continue;
      const end = events.find((one) => one.type === "ToolError" && one.tool_call_id === call.tool_call_id);
      const there = ended.get(call.callee?.request_id ?? "");
      if (end?.type !== "ToolError" || there === undefined || end.code === "tool_error") continue;
      if (Date.parse(there.ts) > Date.parse(end.ts) + CANCEL_MS)
        faults.push(`ask ${call.tool_call_id} of ${runId} ended at ${end.ts}, its turn at ${there.ts}`);
    }
  }
  return faults;
}

/** Longer than a cancel takes, with the trials after several deaths, and shorter than the longest sleep. */
const CANCEL_MS = 60_000;

/** Checks an ended turn of an actor against its program. */
export function checkActorTurn({ requestId, program, history }: ActorTurn, all: Programs): readonly string[] {
  // The first program is that of the request.
  const programs = new Map([[program, all.get(program) ?? []], ...all]);
  const kept = { root: null, keeper: null };
  const end = history.events.at(-1);
  const isCanceled = history.events.some(({ type }) => type === "CancelRequest");
  const { state } = new Model(programs, history, kept).root();
  const reason = isCanceled ? "canceled" : { returned: "success", threw: "error", blocked: undefined }[state];
  const faults = [...checkInvariants(history), ...compareWithPrograms(programs, history, kept)];
  if (end?.type !== "RequestCompleted" || end.finish_reason !== reason)
    faults.push(`it ended with ${JSON.stringify(end)}`);
  return faults.map((fault) => `${requestId}: ${fault}`);
}
