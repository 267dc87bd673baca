import type { TurnAddress } from "../../ports/environment.ts";
import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { LoggedCall } from "../replay/turn-journal.ts";
import { toolCanceled } from "../scheduler/call-tree.ts";
import type { Subscriptions } from "../scheduler/subscriptions.ts";

/** Logged calls in the order in which they are canceled. */
export function deepestFirst(calls: Iterable<LoggedCall>): readonly LoggedCall[] {
  return [...calls].toReversed().sort((a, b) => b.depth - a.depth);
}

/** Records the cancellation of calls that are open in the log and that no code has made again. */
export function cancelLogged(
  recorder: Recorder,
  { runId, requestId }: TurnAddress,
  calls: readonly LoggedCall[],
  subscriptions?: Subscriptions,
): void {
  for (const call of calls) {
    const { agent, depth, parentCallId } = call;
    const speaker = createSpeaker({
      run_id: runId,
      request_id: requestId,
      agent,
      depth,
      ...(parentCallId !== undefined && { parent_call_id: parentCallId }),
    });
    if (parentCallId !== undefined) subscriptions?.introduce(speaker, parentCallId);
    recorder.event(speaker, toolCanceled(call));
  }
}
