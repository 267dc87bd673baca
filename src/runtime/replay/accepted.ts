import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import type { SenderRef } from "../../protocol/actors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { readBase, readOne, readRecord, toForgotten } from "./beginning.ts";

/** Throws `gone` for a request whose run was removed. */
export function checkKept({ requestId, removed }: RequestEntry): void {
  if (removed === true) throw goneWithRun(requestId);
}

/** Reads the record that accepted a request; `gone` if its run was removed since the lookup, or the beginning with it. */
export async function readAccepted(
  log: EventLog,
  { runId, requestId, accepted }: RequestEntry,
): Promise<AcceptedRequest> {
  const record = await readRecord(log, runId, accepted);
  if (record?.type !== "Accepted") throw await toGone(log, runId, requestId);
  return record.accepted;
}

/** Whether a request is a message: its entry starts and ends with one event. */
export function isMessage({ started, completed }: RequestEntry): boolean {
  return started !== undefined && started === completed;
}

/** Reads the event of a message; `gone` if its run was removed since the lookup. */
export async function readMessage(
  log: EventLog,
  entry: RequestEntry,
): Promise<Event & { readonly type: "MessageReceived" }> {
  return JSON.parse(await readEvent(log, entry, entry.started ?? 0)) as Event & {
    readonly type: "MessageReceived";
  };
}

/** Reads who sent a request or a message; `undefined` for a client. */
export async function readSender(log: EventLog, entry: RequestEntry): Promise<SenderRef | undefined> {
  const { sender } = isMessage(entry) ? await readMessage(log, entry) : await readAccepted(log, entry);
  return sender;
}

/** Reads an event of a request; `gone` if its run was removed since the lookup, or the beginning with it. */
export async function readEvent(
  log: EventLog,
  { runId, requestId }: Pick<RequestEntry, "runId" | "requestId">,
  id: number,
  options?: Pick<ReadOptions, "batched">,
): Promise<string> {
  const text = await readOne(log, runId, id, options);
  if (text === undefined) throw await toGone(log, runId, requestId);
  return text;
}

/** The event that acknowledges a request, absent while it is queued, and the id of the event before it. */
export interface Acknowledgement {
  readonly after: number;
  readonly event?: string;
}

/** Reads how a request was acknowledged; `gone` if its run was removed since the lookup. */
export async function readAcknowledgement(log: EventLog, entry: RequestEntry): Promise<Acknowledgement> {
  const { started, accepted } = entry;
  if (started === undefined) return { after: accepted.after };
  return { after: started - 1, event: await readEvent(log, entry, started) };
}

/** Why something that a run had is not there: its run was removed, or its beginning. */
async function toGone(log: EventLog, runId: RunId, requestId: RequestId): Promise<AgentError> {
  const base = await readBase(log, runId);
  return base ? toForgotten(runId, base) : goneWithRun(requestId);
}

function goneWithRun(requestId: RequestId): AgentError {
  return new AgentError("gone", `the run of request ${requestId} was removed`);
}
