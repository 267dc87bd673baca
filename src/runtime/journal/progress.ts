import type { EventBody } from "../../protocol/events/event-body.ts";
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

/** The records that are no progress of a turn: a call that ends the process each time writes them each time. */
export const NO_PROGRESS: ReadonlySet<RecordBody["type"]> = new Set(["Queued", "Begun", "Prompt", "Held"]);
