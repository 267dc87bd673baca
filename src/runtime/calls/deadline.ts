import { toTimestamp } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** The deadline of a call as its events have it. */
export interface Deadline {
  readonly expiresAt: string;
  /** Whether it was over when the call was made again after a crash. */
  readonly isOver: boolean;
}

/** A call that may have a deadline. */
export interface TimedCall {
  readonly callId: CallId;
  /** The time limit that the code gives. */
  readonly timeoutMs: number | undefined;
}

/**
 * Starts the deadline of a call, which is wall time from its first event; `expired` is called then if the call is
 * still open. A restart does not move the deadline: the log has it. If the clock was set back in the meantime, it is
 * the time that the code gives, at the latest.
 */
export function startDeadline(
  { turn }: ActorContext,
  open: OpenCall,
  { callId, timeoutMs }: TimedCall,
  expired: () => void,
): Deadline | undefined {
  const logged = turn.journal.calls.get(callId)?.deadline;
  if (timeoutMs === undefined && logged === undefined) return undefined;
  const { environment } = turn.context;
  const now = environment.now();
  const until = Math.min(logged ?? Infinity, Math.ceil(now + (timeoutMs ?? Infinity)));
  const isOver = until <= now;
  if (!isOver) {
    open.whenClosed(environment.alarm(until, expired));
    turn.quiescence.expires(open, until);
  }
  return { expiresAt: toTimestamp(logged ?? until), isOver };
}

/** The message of a call that did not end before its deadline. */
export function toTimeoutMessage(name: string, timeoutMs: number | undefined): string {
  return `${name} did not end ${timeoutMs === undefined ? "before its deadline" : `within ${timeoutMs} ms`}`;
}
