import { requestIdOf } from "../../../src/protocol/events/encode.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import type { OutsideEffect } from "../server/outside.ts";
import type { History } from "./read-history.ts";
import type { Evidence, Violation } from "./verify-log.ts";

/** Compares the outside effects with the calls in the log (I6). */
export function verifyEffects({ history, earlier, effects, earlierEffects = [] }: Evidence): Violation[] {
  const violations: Violation[] = [];
  const calls = findCalls(history);
  const callsBefore = earlier ? findCalls(earlier) : new Map<string, LoggedDeed>();
  const before = count(earlierEffects);
  for (const [key, { deed, times }] of count(effects)) {
    const say = (what: string): void => {
      violations.push({ invariant: "I6", what: `${deed.kind} ${key}: ${what}` });
    };
    const call = calls.get(key);
    if (call === undefined) {
      say("it was done, and the log has no call for it");
      continue;
    }
    if (deed.kind === "unsafe" && times > 1) say(`it was done ${times} times`);
    if (times > call.attempts) say(`it was done ${times} times in ${call.attempts} attempts`);
    const known = callsBefore.get(key);
    if (known?.ended === true && times > (before.get(key)?.times ?? 0)) {
      say("it was done again although the log had its result");
    }
  }
  const done = count(effects);
  for (const [key, { ended, succeeded, attempts, wrongAttempts }] of calls) {
    if (wrongAttempts) violations.push({ invariant: "I6", what: `${key}: its attempts are not 1, 2, 3 …` });
    if (ended && succeeded && !done.has(key)) {
      violations.push({
        invariant: "I6",
        what: `${key}: the log has a result after ${attempts} attempts, and nothing was done`,
      });
    }
  }
  return violations;
}

/** A logged call with an outside effect. */
interface LoggedDeed {
  attempts: number;
  wrongAttempts: boolean;
  ended: boolean;
  succeeded: boolean;
}

/** The logged calls with outside effects, by the key of their effect. */
function findCalls({ runs }: History): Map<string, LoggedDeed> {
  const found = new Map<string, LoggedDeed>();
  for (const { events } of runs.values()) {
    const keys = new Map<string, string>();
    for (const text of events) {
      const event = JSON.parse(text) as Event;
      const requestId = String(requestIdOf(text));
      if (event.type === "ToolCall" || event.type === "CompletionCall") {
        const callId = event.type === "ToolCall" ? event.tool_call_id : event.call_id;
        const key = keys.get(callId) ?? keyOf(event, requestId, keys.size);
        if (key === undefined) continue;
        keys.set(callId, key);
        const call = found.get(key) ?? { attempts: 0, wrongAttempts: false, ended: false, succeeded: false };
        call.attempts += 1;
        call.wrongAttempts ||= (event.attempt ?? 1) !== call.attempts;
        found.set(key, call);
      } else if (
        event.type === "ToolResult" ||
        event.type === "ToolError" ||
        event.type === "CompletionResult"
      ) {
        const callId = event.type === "CompletionResult" ? event.call_id : event.tool_call_id;
        const call = found.get(keys.get(callId) ?? "");
        if (call === undefined) continue;
        call.ended = true;
        call.succeeded =
          event.type === "ToolResult" || (event.type === "CompletionResult" && event.error === undefined);
      }
    }
  }
  return found;
}

/**
 * The key of a call's effect: from its arguments or its name; `undefined` for a call that only calls others.
 */
function keyOf(
  event: Event & { readonly type: "ToolCall" | "CompletionCall" },
  requestId: string,
  before: number,
): string | undefined {
  if (event.type === "CompletionCall") return `${requestId}/${before === 0 ? "first" : "second"}`;
  // What another actor is asked is in the log of that actor, and what an agent does is in its own calls.
  if (event.mode !== undefined || event.callee?.kind === "agent") return undefined;
  const { key } = event.args as { readonly key?: string };
  return key ?? `${requestId}/${event.function_name}`;
}

function count(
  effects: readonly OutsideEffect[],
): Map<string, { readonly deed: OutsideEffect; times: number }> {
  const counts = new Map<string, { readonly deed: OutsideEffect; times: number }>();
  for (const deed of effects) {
    const known = counts.get(deed.key);
    if (known) known.times += 1;
    else counts.set(deed.key, { deed, times: 1 });
  }
  return counts;
}
