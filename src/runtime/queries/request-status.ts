import type { EventLog, RequestEntry } from "../../ports/event-log.ts";
import { requestIdOf, toTimestamp } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RequestStatus, WaitingFor } from "../../protocol/answers/status.ts";
import { CHAT } from "../agent/agent.ts";
import type { Wait } from "../replay/turn-journal.ts";
import { loadJournal } from "../replay/load-run.ts";
import { isMessage, readAccepted, readEvent, readMessage } from "../replay/accepted.ts";

/** The status of a request in the protocol's form. */
export async function toStatus(log: EventLog, entry: RequestEntry): Promise<RequestStatus> {
  if (isMessage(entry)) return toMessageStatus(entry, await readMessage(log, entry));
  const { request, agent } = await readAccepted(log, entry);
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
      const wait = await oldestOpenWait(log, entry);
      const asked = wait && { request_keys: wait.questions, wait_id: wait.waitId };
      const waitingFor = wait ? toInput(wait) : entry.waitingFor;
      const rest = waitingFor && { waiting_for: waitingFor };
      return { ...base, ...asked, ...rest, last_event_id: await newestEvent(log, entry) };
    }
    default: {
      const never: never = entry.phase;
      return never;
    }
  }
}

/** A message is completed when it is in the log. */
function toMessageStatus(
  { requestId, runId, createdAt }: RequestEntry,
  { id, agent, name, ts }: Event & { readonly type: "MessageReceived" },
): RequestStatus {
  return {
    request_id: requestId,
    run_id: runId,
    agent,
    operation: name,
    status: "completed",
    finish_reason: "success",
    result: null,
    output: null,
    created_at: new Date(createdAt).toISOString(),
    completed_at: ts,
    last_event_id: id,
  };
}

function toInput({ waitId, expiresAt }: Wait): WaitingFor {
  return {
    kind: "input",
    wait_id: waitId,
    ...(expiresAt !== undefined && { expires_at: toTimestamp(expiresAt) }),
  };
}

/** The number of events read at a time to find the newest one of a request. */
const NEWEST = 8;

/** The id of the newest event of a request. Uploads can be newer in its run, but belong to no request. */
async function newestEvent(log: EventLog, { runId, requestId, started = 1 }: RequestEntry): Promise<number> {
  let end = (await log.run(runId))?.head ?? 0;
  while (end >= started) {
    const after = Math.max(end - NEWEST, started - 1);
    const events = toEncoded((await log.read(runId, { after, limit: end - after })).events);
    const index = events.findLastIndex((text) => requestIdOf(text) === requestId);
    if (index !== -1) return after + index + 1;
    end = after;
  }
  return 0;
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

/** The oldest open question of a request; `undefined` unless it waits. */
export async function oldestOpenWait(
  log: EventLog,
  { runId, requestId, phase, segment, started = 1 }: RequestEntry,
): Promise<Wait | undefined> {
  if (phase !== "waiting") return undefined;
  const { waits } = await loadJournal(log, runId, { requestId, root: "", started: segment ?? started });
  const [oldest] = waits.values();
  return oldest;
}
