import { AgentError } from "../errors.ts";
import type { EventLog, RequestEntry } from "../ports/event-log.ts";
import type { Event } from "../protocol/events.ts";
import type { RequestStatus } from "../protocol/status.ts";
import { CHAT } from "./answer.ts";
import type { OpenWait } from "./journal.ts";
import { loadJournal } from "./load-run.ts";
import type { Accepted } from "./records.ts";

/** Throws `gone` for a request whose run was removed. */
export function checkKept({ requestId, removed }: RequestEntry): void {
  if (removed === true) throw new AgentError("gone", `the run of request ${requestId} was removed`);
}

/** Reads the record that accepted a request. */
export async function readAccepted(
  log: EventLog,
  { runId, accepted }: RequestEntry,
): Promise<Accepted | undefined> {
  const { records } = await log.read(runId, { after: accepted.after, limit: 1, records: true });
  const record = records.find(({ n }) => n === accepted.n);
  return record === undefined ? undefined : (record["accepted"] as unknown as Accepted);
}

/** Reads the event with an id. */
export async function readEvent(
  log: EventLog,
  { runId }: RequestEntry,
  id: number,
): Promise<string | undefined> {
  const { events } = await log.read(runId, { after: id - 1, limit: 1 });
  return events[0];
}

/** What the protocol says of a request. */
export async function toStatus(log: EventLog, entry: RequestEntry): Promise<RequestStatus | undefined> {
  const accepted = await readAccepted(log, entry);
  if (accepted === undefined) return undefined;
  const { request, agent } = accepted;
  const base = {
    request_id: entry.requestId,
    run_id: entry.runId,
    agent,
    operation: request.type === "ChatRequest" ? CHAT : request.operation,
    status: entry.phase,
    created_at: new Date(entry.createdAt).toISOString(),
  };
  switch (entry.phase) {
    case "queued":
      return { ...base, last_event_id: 0 };
    case "completed":
      return { ...base, ...(await completion(log, entry)), last_event_id: entry.completed ?? 0 };
    case "running":
    case "waiting": {
      const run = await log.run(entry.runId);
      const wait = await oldestOpenWait(log, entry);
      const asked = wait && { request_keys: wait.questions, wait_id: wait.waitId };
      return { ...base, ...asked, last_event_id: run?.head ?? 0 };
    }
    default: {
      const never: never = entry.phase;
      return never;
    }
  }
}

async function completion(log: EventLog, entry: RequestEntry): Promise<Partial<RequestStatus>> {
  const text = await readEvent(log, entry, entry.completed ?? 0);
  if (text === undefined) return {};
  const event = JSON.parse(text) as Event & { readonly type: "RequestCompleted" };
  return {
    finish_reason: event.finish_reason,
    result: event.result,
    output: event.output,
    ...(event.error && { error: event.error }),
    completed_at: event.ts,
  };
}

/** The oldest question of a request that is still open; `undefined` unless it waits. */
export async function oldestOpenWait(
  log: EventLog,
  { runId, requestId, phase, segment, started = 1 }: RequestEntry,
): Promise<OpenWait | undefined> {
  if (phase !== "waiting") return undefined;
  const { waits } = await loadJournal(log, runId, { requestId, root: "", started: segment ?? started });
  const [oldest] = waits.values();
  return oldest;
}
