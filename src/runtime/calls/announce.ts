import type { CallMode } from "../../protocol/actors.ts";
import type { QueueOptions } from "../../ports/model.ts";
import type { Callee } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Effect } from "../agent/agent.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { fail, stop } from "./call-end.ts";
import { startDeadline, toTimeoutMessage } from "./deadline.ts";
import type { TimedCall } from "./deadline.ts";
import { retakeSlot, takeSlot, toOverloadMessage } from "./slots.ts";

/** A new call, made for the first time or again after a crash. */
export interface NewCall {
  readonly callId: CallId;
  /** The name in its events. */
  readonly name: string;
  readonly args: Json;
  /** Whether it is already in the log (without an outcome). */
  readonly logged: boolean;
}

/** Which attempt of a retried call it is. */
export interface AttemptNumber {
  /** From 1. */
  readonly number: number;
  /** The first attempt, for a later one. */
  readonly retryOf: CallId | undefined;
}

/** A call with everything that its events say. */
export interface AnnouncedCall extends NewCall, TimedCall {
  readonly callee: Callee;
  /** Present if an actor is asked or told. */
  readonly mode?: CallMode | undefined;
  readonly retryOf: CallId | undefined;
  /** The limits of its tool. */
  readonly queue?: QueueOptions | undefined;
}

/** What happens with a call whose outcome is unknown. */
export type RepeatPolicy = Effect | "continue";

/**
 * Logs the start of a call and resolves after the commit, because nothing may happen outside that the log
 * does not contain. Returns the number of the attempt, or 0 if the call must not run.
 */
export async function announce(
  caller: ActorContext,
  open: OpenCall,
  call: AnnouncedCall,
  policy: RepeatPolicy,
): Promise<number> {
  const { recorder, journal } = caller.turn;
  const { limits, queues } = caller.turn.context;
  const { callId, name } = call;
  const late = toTimeoutMessage(name, call.timeoutMs);
  const deadline = startDeadline(caller, open, call, () => stop(caller, open, "timeout", late));
  const known = call.logged ? journal.calls.get(callId) : undefined;
  const before = known?.attempts ?? 0;
  const wasQueued = known?.isQueued ?? false;
  const queue = call.queue && queues.of(call.queue);
  if (deadline?.isOver === true) {
    // A microtask later, when the code that makes the call may have begun to iterate its events.
    await Promise.resolve();
    fail(caller, open, "timeout", late);
    return 0;
  }
  if (before > 0 && policy === "continue") {
    if (queue) retakeSlot(open, queue);
    return before;
  }
  const counted = before - (known?.spared ?? 0);
  if (before > 0 && !wasQueued && (policy === "unsafe" || counted >= limits.attempts)) {
    fail(caller, open, "interrupted", `${name} was interrupted; whether it took effect is unknown`);
    return 0;
  }
  const attempt = wasQueued ? before : before + 1;
  if (!wasQueued) {
    recorder.event(caller.speaker, {
      type: "ToolCall",
      function_name: name,
      args: call.args,
      tool_call_id: callId,
      callee: call.callee,
      ...(call.mode !== undefined && { mode: call.mode }),
      ...(attempt > 1 && { attempt }),
      ...(deadline && { expires_at: deadline.expiresAt }),
      ...(call.retryOf !== undefined && { retry_of: call.retryOf }),
    });
  }
  if (queue && (await takeSlot(caller, open, queue, wasQueued)) === "full")
    fail(caller, open, "overloaded", toOverloadMessage(name));
  try {
    await recorder.committed();
  } catch {
    return 0;
  }
  return open.open ? attempt : 0;
}
