import { createSpeaker } from "../../protocol/encode.ts";
import type { Speaker } from "../../protocol/encode.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import { pathTo } from "../journal/call-id.ts";
import type { LoggedCall } from "../replay/turn-journal.ts";
import { toolCanceled } from "../scheduler/call-tree.ts";
import type { Recorder } from "../journal/recorder.ts";

/** Open calls of the log that the replayed code has not reached yet. */
export class UnreplayedCalls {
  readonly #calls: Map<CallId, LoggedCall>;
  /** All calls of the log by the calls that contain them, including themselves. */
  #under: Map<string, LoggedCall[]> | undefined;

  constructor(calls: ReadonlyMap<CallId, LoggedCall>) {
    this.#calls = new Map(calls);
  }

  /** The code has reached a call. */
  remove(callId: CallId): void {
    this.#calls.delete(callId);
  }

  /** Removes and returns the calls under a call, which the code will never reach, deepest first. */
  take(above: CallId): readonly LoggedCall[] {
    if (this.#calls.size === 0) return NONE;
    this.#under ??= byPath(this.#calls.values());
    const calls = (this.#under.get(above) ?? NONE).filter(({ callId }) => this.#calls.has(callId));
    for (const { callId } of calls) this.#calls.delete(callId);
    return deepestFirst(calls);
  }
}

/** Logged calls in the order in which they are canceled. */
export function deepestFirst(calls: Iterable<LoggedCall>): readonly LoggedCall[] {
  return [...calls].toReversed().sort((a, b) => b.depth - a.depth);
}

/** The turn of logged calls, and the subscriptions of its code. */
export interface LoggedTurn {
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** Registers a speaker under a call. */
  introduce?(speaker: Speaker, callId: CallId): void;
}

/** Records the end of calls that no code handles. */
export function cancelLogged(recorder: Recorder, turn: LoggedTurn, calls: readonly LoggedCall[]): void {
  for (const call of calls) {
    const { agent, depth, parentCallId } = call;
    const speaker = createSpeaker({
      run_id: turn.runId,
      request_id: turn.requestId,
      agent,
      depth,
      ...(parentCallId !== undefined && { parent_call_id: parentCallId }),
    });
    if (parentCallId !== undefined) turn.introduce?.(speaker, parentCallId);
    recorder.event(speaker, toolCanceled(call));
  }
}

function byPath(calls: Iterable<LoggedCall>): Map<string, LoggedCall[]> {
  const under = new Map<string, LoggedCall[]>();
  for (const call of calls) {
    for (const above of pathTo(call.callId)) {
      const known = under.get(above);
      if (known) known.push(call);
      else under.set(above, [call]);
    }
  }
  return under;
}

const NONE: readonly LoggedCall[] = [];
