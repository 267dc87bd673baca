import { createSpeaker } from "../../protocol/encode.ts";
import type { Speaker } from "../../protocol/encode.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import { pathTo } from "../journal/call-id.ts";
import type { LoggedCall } from "../replay/turn-journal.ts";
import { toolCanceled } from "../scheduler/call-tree.ts";
import type { Recorder } from "../journal/recorder.ts";

/** The open calls of the log that a turn's code has not come to again. */
export class UnreplayedCalls {
  readonly #calls: Map<CallId, LoggedCall>;
  /** All calls of the log by what they were made under, themselves included. */
  #under: Map<string, LoggedCall[]> | undefined;

  constructor(calls: ReadonlyMap<CallId, LoggedCall>) {
    this.#calls = new Map(calls);
  }

  /** The code has come to a call. */
  remove(callId: CallId): void {
    this.#calls.delete(callId);
  }

  /** Takes out those under a call, to which the code will never come, the deepest first. */
  take(above: CallId): readonly LoggedCall[] {
    if (this.#calls.size === 0) return NONE;
    this.#under ??= byPath(this.#calls.values());
    const calls = (this.#under.get(above) ?? NONE).filter(({ callId }) => this.#calls.has(callId));
    for (const { callId } of calls) this.#calls.delete(callId);
    return deepestFirst(calls);
  }
}

/** The calls of a log in the order in which they are given up. */
export function deepestFirst(calls: Iterable<LoggedCall>): readonly LoggedCall[] {
  return [...calls].toReversed().sort((a, b) => b.depth - a.depth);
}

/** The turn that logged calls belong to, and whoever follows what is said in it. */
export interface LoggedTurn {
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** Notes who speaks under which call. */
  introduce?(speaker: Speaker, callId: CallId): void;
}

/** Says in the log that calls have ended which no code knows of. */
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
