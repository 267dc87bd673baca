import type { EventOf } from "../../protocol/events/event-schemas.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import { fit, styled, toDuration, toLine, toTime } from "./text.ts";
import type { Output } from "./text.ts";

/** Prints an event as one line: its id, time, agent (indented by its depth), type, and what matters of it. */
export function printEvent(output: Output, event: Event): void {
  const agent = `${"  ".repeat(event.depth)}${event.agent}`;
  const head = `${String(event.id).padStart(5)}  ${toTime(event.ts)}  ${agent.padEnd(14)}  `;
  const line = fit(output, `${head}${event.type.padEnd(18)} ${toLine(matterOf(event))}`);
  output.write(`${styled(output, "dim", line.slice(0, head.length))}${line.slice(head.length)}\n`);
}

/** What matters of an event besides its type. */
function matterOf(event: Event): string {
  switch (event.type) {
    case "RequestStarted":
      return `${event.operation} ${toText(event.input)}${toQueued(event)}`;
    case "TextOutput":
    case "ReasoningOutput":
    case "ToolTextOutput":
      return JSON.stringify(event.content);
    case "ToolCall":
      return `${event.function_name} ${toText(event.args)}`;
    case "ToolResult":
      return `${event.function_name} ${event.text_result}`;
    case "ToolError":
      return `${event.function_name} ${event.code}: ${event.content}`;
    case "WaitForInput":
      return Object.entries(event.request_keys)
        .map(([key, question]) => `${key}: ${question}`)
        .join(" · ");
    case "ResumeWithInput":
      return toText(event.request_keys);
    case "RequestCompleted":
      return event.error === undefined
        ? `${event.finish_reason} ${toText(event.output ?? event.result ?? null)}`
        : `${event.error.code}: ${event.error.message}`;
    default:
      return toRest(event);
  }
}

/** How long a request was queued. */
function toQueued({ ts, accepted_at: accepted }: EventOf<"RequestStarted">): string {
  return accepted === undefined ? "" : ` (queued ${toDuration(Date.parse(ts) - Date.parse(accepted))})`;
}

/** The fields of an event that are its own. */
function toRest(event: Event): string {
  return Object.entries(event)
    .filter(([name]) => !COMMON.has(name))
    .map(([name, value]) => `${name}=${toText(value as Json)}`)
    .join(" ");
}

const COMMON: ReadonlySet<string> = new Set([
  "agent",
  "depth",
  "id",
  "request_id",
  "role",
  "run_id",
  "ts",
  "wait_id",
  "type",
]);

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
