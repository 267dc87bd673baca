import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { OutboxEntry } from "../../ports/log-entries.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { DeadLetter } from "../../protocol/answers/dead-letter.ts";
import { digest } from "../../shared/digest.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { readAccepted, readEvent } from "../replay/accepted.ts";
import { toActorRequest } from "../replay/actor-request.ts";
import type { ActorCallEvent } from "../replay/actor-request.ts";
import { stateAt } from "../replay/load-run.ts";
import type { RunContext } from "../run-context.ts";
import { toNotices } from "./notices.ts";

/** How far behind a call its end is looked for, in events and in bytes: a list has many letters. */
const END_WITHIN = { limit: 1_000, limitBytes: 256 * 1024 } as const;

/** How long a letter that is sent again waits for room, in milliseconds. */
const AGAIN_MS = 10_000;

/** A dead letter, and its request. */
interface FoundLetter {
  readonly shown: DeadLetter;
  readonly accepted: AcceptedRequest;
  /** Whether it is for the run that holds it: its turn has failed there. */
  readonly isOwn: boolean;
}

/** Reads a dead letter; `undefined` if what it was is no longer in the log. */
export async function readDeadLetter(log: EventLog, entry: OutboxEntry): Promise<DeadLetter | undefined> {
  return (await findLetter(log, entry))?.shown;
}

/**
 * Sends a dead letter of a run again, as a request with an id that follows from it: however often that is asked, it is accepted
 * once. The letter is gone then; if it fails again, the new request is a dead letter. Returns the id of the request.
 */
export async function sendDeadLetter(
  context: RunContext,
  ledger: RunLedger,
  requestId: RequestId,
  accept: (accepted: AcceptedRequest) => Promise<unknown>,
): Promise<RequestId> {
  const { environment, log, mail } = context;
  const { runId } = ledger;
  const id = againId(requestId);
  const entry = await findEntry(log, ledger, requestId);
  if (entry === undefined) {
    if ((await log.lookup(id, ledger.owner)) !== undefined) return id;
    throw new AgentError("not_found", `run ${runId} has no dead letter ${requestId}`);
  }
  const letter = await findLetter(log, entry);
  if (letter === undefined)
    throw new AgentError("gone", `what the dead letter ${requestId} was is no longer in the log`);
  const { request } = letter.accepted;
  const now = environment.now();
  const again = {
    ...letter.accepted,
    requestId: id,
    request: { ...request, request_id: id },
    acceptedAt: now,
  };
  if (letter.isOwn) await accept(again);
  else
    await mail.post({
      from: runId,
      accepted: again,
      isRepeated: true,
      isOwnStep: false,
      expiresAt: now + AGAIN_MS,
      isWanted: () => true,
    });
  removeLetter(ledger, entry);
  return id;
}

/** Removes a dead letter of a run; one that is not there was removed before. */
export async function dismissDeadLetter(
  log: EventLog,
  ledger: RunLedger,
  requestId: RequestId,
): Promise<void> {
  const entry = await findEntry(log, ledger, requestId);
  if (entry) removeLetter(ledger, entry);
}

function removeLetter({ recorder }: RunLedger, { requestId, event }: OutboxEntry): void {
  recorder.outbox({ requestId, kind: "dead", event, done: true });
}

async function findEntry(
  log: EventLog,
  ledger: RunLedger,
  requestId: RequestId,
): Promise<OutboxEntry | undefined> {
  await ledger.committed();
  const entries = await log.outbox({ runId: ledger.runId, kind: "dead" });
  return entries.find((entry) => entry.requestId === requestId);
}

function againId(requestId: RequestId): RequestId {
  return `again_${digest(requestId)}` as RequestId;
}

async function findLetter(log: EventLog, entry: OutboxEntry): Promise<FoundLetter | undefined> {
  const { runId, requestId } = entry;
  try {
    const event = JSON.parse(await readEvent(log, entry, entry.event)) as Event;
    if (event.type === "ToolCall") return await refusedTell(log, runId, event as ActorCallEvent);
    if (event.type === "RequestCompleted" && event.request_id === requestId)
      return await failedTurn(log, requestId, event);
    return await refusedNotice(log, entry, event);
  } catch (error) {
    if (error instanceof AgentError && error.code === "gone") return undefined;
    throw error;
  }
}

async function failedTurn(
  log: EventLog,
  requestId: RequestId,
  { run_id: runId, error, ts }: EventOf<"RequestCompleted">,
): Promise<FoundLetter | undefined> {
  const known = await log.lookup(requestId, ownerOf((await log.run(runId)) ?? {}));
  if (known === undefined) return undefined;
  const { callId: _, ...accepted } = await readAccepted(log, known);
  return {
    shown: { ...toShown(runId, accepted), kind: "failed", at: ts, ...(error && { error }) },
    accepted,
    isOwn: true,
  };
}

async function refusedTell(
  log: EventLog,
  runId: RunId,
  call: ActorCallEvent,
): Promise<FoundLetter | undefined> {
  const run = await log.run(runId);
  if (run === undefined) return undefined;
  const known = await log.lookup(call.request_id, ownerOf(run));
  if (known === undefined) return undefined;
  const own = await readAccepted(log, known);
  const self = { agent: own.agent, ...(run.alias !== undefined && { key: run.alias }), run_id: runId };
  const accepted = toActorRequest(call, { self, accepted: own });
  const end = await endOf(log, runId, call);
  return {
    shown: {
      ...toShown(runId, accepted),
      kind: "refused",
      at: end?.ts ?? call.ts,
      ...(end && { error: { code: end.code, message: end.content } }),
    },
    accepted,
    isOwn: false,
  };
}

/** The ToolError of a call. */
async function endOf(
  log: EventLog,
  runId: RunId,
  { id, tool_call_id: callId }: ActorCallEvent,
): Promise<EventOf<"ToolError"> | undefined> {
  const { events } = await log.read(runId, { after: id, ...END_WITHIN });
  const all = toEncoded(events).map((text) => JSON.parse(text) as Event);
  return all.find(
    (event): event is EventOf<"ToolError"> => event.type === "ToolError" && event.tool_call_id === callId,
  );
}

async function refusedNotice(
  log: EventLog,
  { runId, requestId }: OutboxEntry,
  event: Event,
): Promise<FoundLetter | undefined> {
  const run = await log.run(runId);
  if (run === undefined) return undefined;
  const { watchers = [], newest = [] } = await stateAt(log, runId, run.head);
  const self = {
    owner: ownerOf(run),
    agent: run.agent,
    ...(run.alias !== undefined && { key: run.alias }),
    run_id: runId,
  };
  const told = await toNotices(log, self, event, watchers, newest);
  const accepted = told.find((notice) => notice.requestId === requestId);
  // An actor that no longer watches gets nothing again.
  if (accepted === undefined) return undefined;
  return {
    shown: { ...toShown(runId, accepted), kind: "refused", at: event.ts },
    accepted,
    isOwn: false,
  };
}

function toShown(
  runId: RunId,
  { requestId, agent, request, sender }: AcceptedRequest,
): Omit<DeadLetter, "kind" | "at"> {
  const { key, run_id: to } = request;
  return {
    run_id: runId,
    request_id: requestId,
    agent,
    ...(key !== undefined && { key }),
    ...(to !== undefined && { to_run_id: to }),
    operation: request.type === "ChatRequest" ? "chat" : request.operation,
    input: request.input,
    ...(sender && { sender }),
  };
}
