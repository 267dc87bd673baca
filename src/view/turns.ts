import type { HoldReason, Usage } from "../protocol/events/outcome-codes.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { ViewDraft } from "./draft.ts";
import { baseOf, given, eventPlace } from "./event.ts";
import type { SentEventOf, SentEvent } from "./event.ts";
import {
  addTime,
  closeCall,
  msBetween,
  noTimes,
  nothingOpen,
  addCall,
  setStatus,
  spendTime,
} from "./call-tree.ts";
import { addPart, endTextsIn } from "./parts.ts";
import { callKey } from "./run-view.ts";

/** Begins a turn. */
export function applyStart(draft: ViewDraft, event: SentEventOf<"RequestStarted">): void {
  const { operation = "", input = null } = event;
  if (!event.request_id) return;
  beginTurn(draft, event, event.request_id);
  addPart(draft, { ...baseOf(event), kind: "input", operation, input });
}

/** Begins a turn whose start may be missing, because the events begin later. */
export function beginTurn(
  draft: ViewDraft,
  event: SentEventOf<"RequestStarted">,
  requestId: RequestId,
): void {
  const { view } = draft;
  const { agent, at } = eventPlace(event);
  const { operation = "", input = null, attachments = [], accepted_at: acceptedAt } = event;
  const { agent_version: agentVersion, trace } = event;
  const root = callKey(requestId);
  if (view.calls.has(root)) return;
  if (view.agent === "") view.agent = agent;
  view.turns = draft.added(view.turns, {
    requestId,
    agent,
    operation,
    input,
    attachments,
    root,
    startedId: event.id,
    ...given({ acceptedAt, agentVersion, trace }),
    startedAt: at,
    phase: "running",
    since: at,
    usage: {},
    times: noTimes,
    open: nothingOpen,
  });
  addCall(draft, {
    key: root,
    requestId,
    callId: "",
    kind: "turn",
    name: agent,
    ...(operation !== "" && { functionName: operation }),
    caller: "",
    depth: 0,
    children: [],
    openCalls: 0,
    args: input,
    attempt: 1,
    startedId: event.id,
    startedAt: at,
    progress: "",
  });
  const turn = draft.turn(requestId);
  if (turn === undefined) return;
  if (acceptedAt !== undefined) addTime(draft, turn, "queuedMs", msBetween(acceptedAt, at));
  setStatus(draft);
  draft.changes?.push({ type: "input", turn });
}

/** Ends a turn; a RequestCompleted at a greater depth is that of an agent on another server. */
export function endTurn(draft: ViewDraft, event: SentEventOf<"RequestCompleted">): void {
  const { finish_reason: outcome = "success", result, output, error, usage } = event;
  const { requestId, at, depth } = eventPlace(event);
  if (depth > 0 || requestId === null) return;
  const root = callKey(requestId);
  const failure = { error: error?.message, errorCode: error?.code };
  const end = { outcome, ...given({ ...failure, result: output, text: result ?? undefined }) };
  if (closeCall(draft, root, end, { id: event.id, ts: at }) === undefined) return;
  endTextsIn(draft, requestId);
  const turn = draft.turn(requestId);
  if (turn === undefined) return;
  if (usage) {
    draft.view.usage = mergeUsage(draft.view.usage, usage, turn.usage);
    turn.usage = usage;
  }
  const isResultCut = event.result_truncated;
  const ended = given({ error, result, isResultCut, output });
  turn.held = undefined;
  turn.cancelingSince = undefined;
  Object.assign(turn, { endedId: event.id, endedAt: at, outcome, ...ended });
  addPart(draft, { ...baseOf(event), kind: "end", outcome });
  draft.changes?.push({ type: "end", turn });
}

/** Notes that no served code can continue a turn, or that it continues. The time in between is in no phase. */
export function holdTurn(
  draft: ViewDraft,
  event: SentEventOf<"RequestHeld"> | SentEventOf<"RequestContinued">,
): void {
  const { requestId, at } = eventPlace(event);
  const turn = requestId === null ? undefined : draft.turn(requestId);
  if (turn === undefined) return;
  spendTime(draft, turn, at);
  const { code, message = "", scope, expected, found, at: place }: Partial<HoldReason> = event;
  const since = turn.held?.since ?? at;
  turn.held = code && { code, message, ...given({ scope, expected, found, at: place }), since };
}

/** Notes who canceled a turn; a cancel at a greater depth is that of an agent on another server. */
export function noteCancel(draft: ViewDraft, event: SentEventOf<"CancelRequest">): void {
  const { requestId, depth } = eventPlace(event);
  const turn = depth > 0 || requestId === null ? undefined : draft.turn(requestId);
  if (turn !== undefined) Object.assign(turn, given({ canceledBy: event.by }));
}

/** Notes that the cleanup steps of a turn run. */
export function cleanTurn(draft: ViewDraft, event: SentEventOf<"RequestCanceling">): void {
  const { requestId, at, depth } = eventPlace(event);
  const turn = depth > 0 || requestId === null ? undefined : draft.turn(requestId);
  if (turn !== undefined) turn.cancelingSince = at;
}

/** Notes that a turn has failed and is done again. */
export function restartTurn(draft: ViewDraft, event: SentEventOf<"RequestRestarted">): void {
  const { requestId, at, depth } = eventPlace(event);
  const turn = depth > 0 || requestId === null ? undefined : draft.turn(requestId);
  if (turn === undefined || requestId === null) return;
  endTextsIn(draft, requestId);
  turn.cancelingSince = undefined;
  const { restart = 1, error, until } = event;
  turn.restarted = { times: restart, at, ...given({ error, until }) };
}

/** Notes that the actor of the run takes no requests, or that it takes them again. */
export function noteStop(
  draft: ViewDraft,
  event: SentEventOf<"ActorStopped"> | SentEventOf<"ActorResumed">,
): void {
  const { at: since } = eventPlace(event);
  const { type, error } = event as SentEventOf<"ActorStopped">;
  draft.view.stopped = type === "ActorStopped" ? { since, ...given({ error }) } : undefined;
}

/** Keeps what a run was created with. */
export function createRun(draft: ViewDraft, event: SentEventOf<"RunCreated">): void {
  const { input = null, metadata = {}, continues } = event;
  draft.view.created = { input, metadata, ...given({ continues }) };
  if (draft.view.agent === "") draft.view.agent = event.agent ?? "";
}

/** Keeps the run in which the actor continues. */
export function renewRun(draft: ViewDraft, { to }: SentEventOf<"Renewed">): void {
  if (to !== undefined) draft.view.renewedTo = to;
}

/** Whether an event is of a turn of which no event is known. */
export function isOfUnknownTurn(
  draft: ViewDraft,
  event: SentEvent,
): event is SentEvent & { request_id: RequestId } {
  return !!event.request_id && !draft.view.calls.has(callKey(event.request_id));
}

/** The sum of two usages, without a part of it that is already counted. */
export function mergeUsage(to: Usage, added: Usage, without: Usage = {}): Usage {
  const counts = (usage: Usage): Readonly<Record<string, number>> =>
    usage as Readonly<Record<string, number>>;
  const sum: Record<string, number> = { ...counts(to) };
  for (const name of Object.keys({ ...added, ...without }))
    sum[name] = (sum[name] ?? 0) + (counts(added)[name] ?? 0) - (counts(without)[name] ?? 0);
  return sum;
}
