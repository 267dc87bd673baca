import type { Speaker } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { RecordBody } from "./records.ts";

/** Whether an event starts a call again. A retry alone is no progress of the turn. */
export function isRetry(event: EventBody): boolean {
  switch (event.type) {
    case "ToolCall":
      return (event.attempt ?? 1) > 1;
    case "CompletionCall":
      return event.attempt > 1;
    default:
      return false;
  }
}

/**
 * The records that are no progress of a turn: those that come from outside or say how the turn was continued, and those that
 * a call which ends the process each time writes each time.
 */
export const NO_PROGRESS: ReadonlySet<RecordBody["type"]> = new Set([
  "Accepted",
  "Accompanied",
  "Begun",
  "Checkpoint",
  "ConfigRecorded",
  "Dropped",
  "Forked",
  "Held",
  "MemoryCommitted",
  "Prompt",
  "Queued",
  "Raised",
  "RecoveryStarted",
  "Released",
  "Scheduled",
  "Watchers",
]);

/** Whether a turn has made progress since it was continued: it did something that it had not done before. */
export interface Progress {
  readonly requestId: RequestId;
  isMade: boolean;
}

/** Notes an event; one without a body is a text. Those of other requests and of no request come from outside. */
export function noteEvent(progress: Progress, { address }: Speaker, body?: EventBody): void {
  if (address.request_id !== progress.requestId) return;
  if (body === undefined || !isStale(body)) progress.isMade = true;
}

/** Notes a record. */
export function noteRecord(progress: Progress, { type }: RecordBody): void {
  if (!NO_PROGRESS.has(type)) progress.isMade = true;
}

/** Whether an event is no progress of its turn: it starts a call again, comes from outside, or says who continues the turn. */
function isStale(event: EventBody): boolean {
  switch (event.type) {
    case "MessageReceived":
    case "RequestHeld":
    case "RequestContinued":
    case "RequestCanceling":
      return true;
    default:
      return isRetry(event);
  }
}
