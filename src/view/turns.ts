import type { RequestId } from "../protocol/ids.ts";
import { callKey } from "./fold.ts";
import type { Fold } from "./fold.ts";
import { given, placeOf } from "./event.ts";
import type { Sent, SentEvent } from "./event.ts";
import { addTime, closeCall, msBetween, noTimes, nothingOpen, openCall } from "./open-calls.ts";
import { addMessage, endTexts } from "./texts.ts";
import { addUsage } from "./usage.ts";

/** Begins a turn. */
export function startTurn(fold: Fold, event: Sent<"RequestStarted">): void {
  const { operation = "", input = null } = event;
  if (!event.request_id) return;
  beginTurn(fold, event, event.request_id);
  addMessage(fold, { ...placeOf(event), id: event.id, kind: "input", operation, input });
}

/** Begins a turn whose start may be missing, because the events begin later. */
export function beginTurn(fold: Fold, event: Sent<"RequestStarted">, requestId: RequestId): void {
  const { view } = fold;
  const { agent, at } = placeOf(event);
  const { operation = "", input = null, attachments = [], accepted_at: acceptedAt } = event;
  const root = callKey(requestId);
  if (view.calls.has(root)) return;
  if (view.agent === "") view.agent = agent;
  view.turns = fold.added(view.turns, {
    requestId,
    agent,
    operation,
    input,
    attachments,
    root,
    startedId: event.id,
    ...given({ acceptedAt }),
    startedAt: at,
    phase: "running",
    since: at,
    usage: {},
    times: noTimes,
    open: nothingOpen,
  });
  openCall(fold, {
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
  const turn = fold.turn(requestId);
  if (turn && acceptedAt !== undefined) addTime(fold, turn, "queuedMs", msBetween(acceptedAt, at));
}

/** Ends a turn; a RequestCompleted at a greater depth is that of an agent on another server. */
export function endTurn(fold: Fold, event: Sent<"RequestCompleted">): void {
  const { finish_reason: outcome = "success", result, output, error, usage } = event;
  const { requestId, at, depth } = placeOf(event);
  if (depth > 0 || requestId === null) return;
  closeCall(
    fold,
    callKey(requestId),
    {
      outcome,
      ...given({ error: error?.message, errorCode: error?.code, result: output, text: result ?? undefined }),
    },
    { id: event.id, ts: at },
  );
  for (const speaker of fold.view.speaking.keys())
    if (speaker.startsWith(callKey(requestId))) endTexts(fold, speaker.slice(0, speaker.indexOf(" ")));
  const turn = fold.turn(requestId);
  if (turn === undefined) return;
  if (usage) {
    fold.view.usage = addUsage(fold.view.usage, usage, turn.usage);
    turn.usage = usage;
  }
  Object.assign(turn, { endedId: event.id, endedAt: at, outcome, ...given({ error, result, output }) });
}

/** Keeps what a run was created with. */
export function createRun(fold: Fold, event: Sent<"RunCreated">): void {
  const { input = null, metadata = {}, continues } = event;
  fold.view.created = { input, metadata, ...given({ continues }) };
  if (fold.view.agent === "") fold.view.agent = event.agent ?? "";
}

/** Keeps the run in which the actor continues. */
export function renewRun(fold: Fold, { to }: Sent<"Renewed">): void {
  if (to !== undefined) fold.view.renewedTo = to;
}

/** Whether an event is of a turn of which no event is known. */
export function isOfUnknownTurn(
  fold: Fold,
  event: SentEvent,
): event is SentEvent & { request_id: RequestId } {
  return !!event.request_id && !fold.view.calls.has(callKey(event.request_id));
}
