import type { EventBody } from "../../protocol/events/events.ts";

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
