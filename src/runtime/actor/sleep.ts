import type { CallId } from "../../protocol/ids.ts";
import type { Actor } from "./actor.ts";
import { openCall } from "./call.ts";

/**
 * Wakes an actor after a time. A restart does not reset that time. If the clock was set back in the meantime, the
 * sleep ends after the time that the code asked for, at the latest.
 */
export function sleep(
  caller: Actor,
  { callId, logged }: { readonly callId: CallId; readonly logged: boolean },
  ms: number,
): void {
  const { turn } = caller;
  const { recorder, journal } = turn;
  const { environment } = turn.context;
  const now = environment.now();
  const loggedUntil = journal.wakeTimes.get(callId) ?? Infinity;
  const until = Math.min(loggedUntil, now + ms);
  let stop = (): void => {};
  const open = openCall(caller, { callId, name: "sleep", args: null, logged }, "sleep", () => stop());
  if (!logged || until < loggedUntil) recorder.record({ type: "Sleep", call_id: callId, ms, until });
  turn.slept(callId, until, now);
  if (turn.ended) return;
  stop = environment.timer(Math.max(until - now, 0), () => {
    if (!turn.calls.accepts(open)) return;
    turn.calls.wake(open);
  });
}
