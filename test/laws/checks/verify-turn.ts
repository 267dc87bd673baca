import type { Event } from "../../../src/protocol/events/events.ts";
import type { CallId } from "../../../src/protocol/ids.ts";
import { countSpared, isCut, isInside } from "../history.ts";
import type { History } from "../history.ts";
import { Model } from "../model.ts";
import type { Expected, Given, Kept } from "../model.ts";
import type { Programs } from "../program.ts";
import { checkPrompts } from "./verify-prompts.ts";

/** Compares what a turn did, so far or to its end, with its programs. */
export function compareWithPrograms(
  programs: Programs,
  history: History,
  kept: Kept,
  given: Given = {},
): readonly string[] {
  const model = new Model(programs, history, kept, given);
  const expected = model.scopes();
  const isCanceled = history.events.some(({ type }) => type === "CancelRequest");
  const faults = [...model.faults];
  for (const [scope, { items }] of expected) {
    const logged = (history.items.get(scope) ?? []).map(({ what }) => what);
    const wanted = isCanceled || isCut(history, scope) ? items.slice(0, logged.length) : items;
    if (JSON.stringify(logged) !== JSON.stringify(wanted))
      faults.push(`${scope} did ${JSON.stringify(logged)} and not ${JSON.stringify(wanted)}`);
  }
  for (const scope of history.items.keys())
    if (!expected.has(scope)) faults.push(`${scope} did something unexpected`);
  return faults;
}

/** Invariants of every ended turn. */
export function checkInvariants(history: History): readonly string[] {
  const { events, outcomes, calls, attempts, ids } = history;
  const faults: string[] = [];
  const starts = events.filter(({ type }) => type === "RequestStarted");
  const ends = events.filter(({ type }) => type === "RequestCompleted");
  if (starts.length !== 1 || events[0] !== starts[0]) faults.push("it does not begin once");
  if (ends.length !== 1 || events.at(-1) !== ends[0]) faults.push("it does not end once, at last");
  ids.forEach((id, index) => {
    if (id !== index + 1) faults.push(`event ${id} stands at place ${index + 1}`);
  });
  for (const [callId] of calls) {
    const outcome = outcomes.get(callId);
    if (outcome === undefined) faults.push(`${callId} has no outcome`);
    for (const [other] of calls) {
      const later = (outcomes.get(other)?.at ?? 0) > (outcome?.at ?? 0);
      if (isInside(other, callId) && later) faults.push(`${other} ended after ${callId}, which made it`);
    }
  }
  const most = 3 + countSpared(history.entries, String(events[0]?.request_id));
  for (const [callId, times] of attempts) if (times > most) faults.push(`${callId} was tried ${times} times`);
  const [end] = ends;
  if (end?.type === "RequestCompleted" && end.finish_reason === "success") {
    // The result of a turn without texts is its output as text.
    const said = saidIn(events) || (end.output === null ? "" : JSON.stringify(end.output));
    if ((end.result ?? "") !== said) faults.push(`its result is ${String(end.result)}, not ${said}`);
  }
  faults.push(...checkPrompts(history));
  return faults;
}

/** Whether every unsafe effect and tool was done at most as often as these turns have called it. */
export function checkEffects(
  histories: readonly History[],
  done: ReadonlyMap<string, number>,
): readonly string[] {
  const calls = histories.flatMap((history) => [...history.calls.values()]);
  const countCalls = (name: string): number =>
    calls.filter(
      (call) =>
        call.name === name ||
        (call.name === "risky" && (call.args as { readonly program: number }).program === Number(name)),
    ).length;
  return [...done]
    .filter(([what, times]) => what.startsWith("risky") && times > countCalls(what.slice("risky ".length)))
    .map(([what, times]) => `${what} was done ${times} times`);
}

/** The text of a turn, without text that a later attempt of a completion replaced. */
function saidIn(events: readonly Event[]): string {
  const last = new Map<CallId | undefined, number>();
  for (const event of events) if (event.type === "CompletionCall") last.set(event.call_id, event.attempt);
  return events
    .map((event) =>
      event.type === "TextOutput" && event.depth === 0 && event.attempt === last.get(event.call_id)
        ? event.content
        : "",
    )
    .join("");
}

/**
 * Whether a turn whose code was changed must end with `nondeterministic`: `undefined` if that depends on
 * later steps.
 */
export function mustDiverge(programs: Programs, before: History, kept: Kept): boolean | undefined {
  const expected = new Model(programs, before, kept).scopes();
  let isOpen = false;
  for (const [scope, { items, state }] of expected) {
    if (isSettled(scope, before)) continue;
    const logged = before.items.get(scope) ?? [];
    if (mayEndBefore(scope, expected)) {
      isOpen = true;
      continue;
    }
    if (logged.some(({ what }, index) => index < items.length && items[index] !== what)) return true;
    if (logged.length > items.length && state !== "blocked") return true;
    if (logged.length > items.length) isOpen = true;
    if (items.length > logged.length && isJoined(scope, before)) return true;
  }
  for (const scope of before.items.keys())
    if (!expected.has(scope) && !isSettled(scope, before)) isOpen = true;
  return isOpen ? undefined : false;
}

/** Whether the code above a scope can end without it, so that the scope is canceled before it diverges. */
function mayEndBefore(scope: string, expected: ReadonlyMap<string, Expected>): boolean {
  return [...expected].some(([above, { state }]) => state !== "blocked" && isInside(scope, above));
}

/** Whether a scope belongs to an ended call, so that it does not run again. */
function isSettled(scope: string, { outcomes }: History): boolean {
  return [...outcomes.keys()].some((callId) => scope === callId || isInside(scope, callId));
}

/** Whether a branch is over because the sequence that contains it continued. */
function isJoined(scope: string, { items }: History): boolean {
  const colon = scope.lastIndexOf(":");
  if (colon < 0 || colon < scope.lastIndexOf(".")) return false;
  const all = scope.slice(0, colon);
  const parent = all.slice(0, all.lastIndexOf("."));
  const place = Number(all.slice(all.lastIndexOf(".") + 1));
  // A retried call is a branch beside which the sequence continues.
  if (items.get(parent)?.[place - 1]?.what === "all 1") return isJoined(parent, { items } as History);
  return (items.get(parent)?.length ?? 0) > place || isJoined(parent, { items } as History);
}
