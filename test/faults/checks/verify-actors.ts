import type { Event } from "../../../src/protocol/events/events.ts";
import { typeOf } from "../../../src/protocol/events/encode.ts";
import type { History } from "./read-history.ts";

/** What is wrong with asks and tells: each is one turn at most, and its outcome is the end of that turn. */
export function verifyActors({ runs }: History): readonly string[] {
  const ends = new Map<string, Event & { readonly type: "RequestCompleted" }>();
  const starts = new Map<string, number>();
  for (const { events } of runs.values()) {
    for (const text of events) {
      const type = typeOf(text);
      if (type !== "RequestStarted" && type !== "RequestCompleted") continue;
      const event = JSON.parse(text) as Event;
      if (event.type === "RequestCompleted" && event.depth === 0) ends.set(event.request_id, event);
      if (event.type === "RequestStarted")
        starts.set(event.request_id, (starts.get(event.request_id) ?? 0) + 1);
    }
  }
  const wrong: string[] = [];
  for (const [runId, { events }] of runs) {
    const sent = new Map<string, Event & { readonly type: "ToolCall" }>();
    for (const text of events) {
      if (!typeOf(text).startsWith("Tool")) continue;
      const event = JSON.parse(text) as Event;
      if (event.type === "ToolCall" && event.mode !== undefined) sent.set(event.tool_call_id, event);
      if (event.type !== "ToolResult") continue;
      const call = sent.get(event.tool_call_id);
      if (call === undefined) continue;
      const requestId = call.callee?.request_id ?? "";
      if (call.mode === "ask" && JSON.stringify(ends.get(requestId)?.output) !== JSON.stringify(event.result))
        wrong.push(`${call.tool_call_id} of ${runId} has another result than ${requestId}`);
    }
    for (const { callee, tool_call_id: callId } of sent.values()) {
      const turns = starts.get(callee?.request_id ?? "") ?? 0;
      if (turns > 1) wrong.push(`${callId} of ${runId} started ${turns} turns`);
    }
  }
  return wrong;
}
