import type { FinishReason } from "../protocol/events/outcome-codes.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { Mutable, ViewDraft } from "./draft.ts";
import type { CallView, OpenCallCounts, Phase, Times, TurnView } from "./run-view.ts";

/** What a view keeps of the end of a call. */
export type CallEnd = Pick<CallView, "outcome" | "errorCode" | "error" | "result" | "text" | "usage">;

/** When something happened. */
export interface Moment {
  readonly id: number;
  readonly ts: string;
}

/** The times of a view without events. */
export const noTimes: Times = { workedMs: 0, waitedMs: 0, sleptMs: 0, queuedMs: 0 };

/** The open calls of a view without events. */
export const nothingOpen: OpenCallCounts = { working: 0, waits: 0, asks: 0, sleeps: [] };

/** Adds a call to the tree of its turn. */
export function addCall(draft: ViewDraft, call: CallView): void {
  draft.setCall(call);
  const turn = draft.turn(call.requestId);
  const parent = call.parent === undefined ? undefined : draft.call(call.parent);
  if (parent) {
    if (parent.openCalls === 0 && parent.outcome === undefined) count(turn, parent, -1);
    parent.openCalls += 1;
    parent.children = draft.added(parent.children, call.key);
  }
  count(turn, call, 1);
  if (turn) setPhase(draft, turn, call.startedAt);
}

/** Ends an open call and the calls that are open in it; `undefined` if it is not open. */
export function closeCall(draft: ViewDraft, key: string, end: CallEnd, moment: Moment): CallView | undefined {
  const requestId = close(draft, key, end, moment);
  if (requestId === undefined) return undefined;
  const turn = draft.turn(requestId);
  if (turn) setPhase(draft, turn, moment.ts);
  return draft.view.calls.get(key);
}

/** Makes an open completion rest until its next attempt, or work again. */
export function restCall(
  draft: ViewDraft,
  call: Mutable<CallView>,
  rest: Pick<CallView, "until" | "error" | "errorCode"> | undefined,
  ts: string,
): void {
  const turn = draft.turn(call.requestId);
  count(turn, call, -1);
  delete call.until;
  delete call.error;
  delete call.errorCode;
  Object.assign(call, rest);
  count(turn, call, 1);
  if (turn) setPhase(draft, turn, ts);
}

/** Ends the sleeps of a turn whose time is over. Sleeps have no event for their end. */
export function endSleeps(draft: ViewDraft, requestId: RequestId, moment: Moment): void {
  const sleeps = draft.view.turns.findLast((turn) => turn.requestId === requestId)?.open.sleeps ?? [];
  if (sleeps.length === 0) return;
  const due = sleeps
    // A completion that rests ends with its next attempt.
    .filter((key) => draft.view.calls.get(key)?.kind === "sleep")
    .map((key) => ({ key, until: draft.view.calls.get(key)?.until ?? "" }))
    .filter(({ until }) => !(Date.parse(until) > Date.parse(moment.ts)))
    .sort((one, other) => Date.parse(one.until) - Date.parse(other.until));
  for (const { key, until } of due)
    closeCall(draft, key, { outcome: "success" }, { id: moment.id, ts: until === "" ? moment.ts : until });
}

/** Ends the sleeps of earlier turns of a request, which went on in a next one: its calls have ids of their own. */
export function endEarlierSleeps(
  draft: ViewDraft,
  requestId: RequestId,
  callId: string,
  moment: Moment,
): void {
  const sleeps = draft.view.turns.findLast((turn) => turn.requestId === requestId)?.open.sleeps ?? [];
  for (const key of sleeps) {
    const call = draft.view.calls.get(key);
    if (call?.kind === "sleep" && turnOf(call.callId) !== turnOf(callId))
      closeCall(draft, key, INSIDE, moment);
  }
}

/** The first part of the id of a call, which is that of its turn. */
function turnOf(callId: string): string {
  return callId.slice(0, callId.indexOf("."));
}

function close(draft: ViewDraft, key: string, end: CallEnd, moment: Moment): RequestId | undefined {
  const call = draft.call(key);
  if (call === undefined || call.outcome !== undefined) return undefined;
  if (call.openCalls > 0) for (const child of call.children) close(draft, child, INSIDE, moment);
  const turn = draft.turn(call.requestId);
  count(turn, call, -1);
  Object.assign(call, end);
  call.endedId = moment.id;
  call.endedAt = moment.ts;
  draft.setSpeaking(key, []);
  if (call.kind === "wait" && end === INSIDE) {
    const wait = draft.view.waits.findLast((wait) => wait.call === key);
    const ended = wait && draft.wait(wait.waitId);
    if (ended) {
      ended.state = "ended";
      ended.to = moment.ts;
    }
  }
  const parent = call.parent === undefined ? undefined : draft.call(call.parent);
  if (parent) {
    parent.openCalls -= 1;
    if (parent.openCalls === 0 && parent.outcome === undefined) count(turn, parent, 1);
  }
  return call.requestId;
}

/** The end of a call whose caller has ended. */
const INSIDE: CallEnd = { outcome: "canceled" };

/** Counts a call that has no open calls itself. */
function count(turn: Mutable<TurnView> | undefined, { kind, key, until }: CallView, by: 1 | -1): void {
  if (turn === undefined) return;
  const { working, waits, asks, sleeps } = turn.open;
  if (kind === "wait") turn.open = { working, waits: waits + by, asks, sleeps };
  else if (kind === "actor") turn.open = { working, waits, asks: asks + by, sleeps };
  else if (until === undefined) turn.open = { working: working + by, waits, asks, sleeps };
  else {
    const others = sleeps.filter((one) => one !== key);
    turn.open = { working, waits, asks, sleeps: by > 0 ? [...others, key] : others };
  }
}

/** Ends the current phase of a turn if its open calls make another one. */
function setPhase(draft: ViewDraft, turn: Mutable<TurnView>, ts: string): void {
  const phase = toPhase(turn);
  if (phase === turn.phase) return;
  spendTime(draft, turn, ts);
  turn.phase = phase;
  setStatus(draft);
}

/** Adds the time since the last moment to the phase of a turn. The time of a turn that is held is no time of its phase. */
export function spendTime(draft: ViewDraft, turn: Mutable<TurnView>, ts: string): void {
  const name = SPENT[turn.phase];
  if (name !== undefined && turn.held === undefined) addTime(draft, turn, name, msBetween(turn.since, ts));
  turn.since = ts;
}

/** Sets the status of the run, which is that of its newest open turn. */
export function setStatus({ view }: ViewDraft): void {
  const open = view.turns.findLast(({ phase }) => phase !== "ended");
  view.status = open === undefined ? "idle" : open.phase === "waiting" ? "waiting" : "running";
}

/** Adds to a time of a turn and of the run. */
export function addTime(draft: ViewDraft, turn: Mutable<TurnView>, name: keyof Times, ms: number): void {
  turn.times = { ...turn.times, [name]: turn.times[name] + ms };
  draft.view.times = { ...draft.view.times, [name]: draft.view.times[name] + ms };
}

/** The time from one moment to a later one; 0 if a clock was set back or a time is unknown. */
export function msBetween(from: string, to: string): number {
  const ms = Date.parse(to) - Date.parse(from);
  return ms > 0 ? ms : 0;
}

const SPENT: { readonly [InPhase in Phase]?: keyof Times } = {
  running: "workedMs",
  waiting: "waitedMs",
  sleeping: "sleptMs",
};

function toPhase({ open: { working, waits, asks, sleeps } }: TurnView): Phase {
  if (working > 0) return "running";
  if (waits > 0) return "waiting";
  if (asks > 0) return "running";
  return sleeps.length > 0 ? "sleeping" : "ended";
}

/** Whether a call has ended with success, was canceled, or failed. */
export function outcomeOf(code: string): FinishReason {
  return code === "canceled" ? "canceled" : "error";
}
