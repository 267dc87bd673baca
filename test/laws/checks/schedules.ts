import type { LogRecord } from "../../../src/ports/log-batch.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import { SCHEDULE, toScheduledId } from "../../../src/runtime/journal/stored-schedule.ts";
import type { ScheduleBody } from "../../../src/runtime/journal/stored-schedule.ts";

import { carriedInto } from "../messages.ts";

type ToolCall = Event & { readonly type: "ToolCall" };

/** The logs of all runs. */
export interface ScheduleLogs {
  readonly runs: ReadonlyMap<string, LoggedRun>;
}

interface LoggedRun {
  readonly events: readonly Event[];
  readonly records: readonly LogRecord[];
  readonly removed: boolean;
}

/**
 * The laws of `turn.schedule`: what a turn has scheduled once is sent once, to the actor that it names, and not before its time. A
 * time is one of the clock of the process that sends it, which may have been set back since.
 */
export function findMistimed({ runs }: ScheduleLogs, backMs = 0): readonly string[] {
  const faults: string[] = [];
  for (const [runId, { events }] of runs) {
    for (const event of events) {
      const { callee } = event as Partial<ToolCall>;
      if (event.type !== "ToolCall" || !event.function_name.endsWith(`.${SCHEDULE}`) || event.forked_from)
        continue;
      const isTaken = events.some(
        (end) => end.type === "ToolResult" && end.tool_call_id === event.tool_call_id,
      );
      const body = event.args as unknown as ScheduleBody;
      if (!body.on || !("at" in body.times)) continue;
      const requestId = toScheduledId(body, body.times.at);
      const what = `${requestId}, scheduled by ${event.tool_call_id} of ${runId},`;
      const all = [...runs.values()];
      const isThere = all.some((run) => run.events.some((each) => isMessage(each, callee?.request_id ?? "")));
      if (!isThere && isTaken && !all.some(({ removed }) => removed)) faults.push(`${what} is lost`);
      const sent = all.flatMap((run) => {
        // A message that no turn has read goes along to the next run of its actor.
        const isCarried = carriedInto(run, runs).has(requestId);
        return isCarried ? [] : run.events.filter((each) => isSent(each, requestId));
      });
      if (sent.length > 1) faults.push(`${what} was sent ${sent.length} times`);
      for (const { ts, ...each } of sent) {
        if (Date.parse(ts) < Math.floor(body.times.at) - backMs)
          faults.push(`${what} was sent at ${ts}, before its time`);
        const input = each.type === "RequestStarted" ? each.input : each.body;
        if (each.agent !== callee?.name || JSON.stringify(input) !== JSON.stringify(body.input))
          faults.push(`${what} was sent as ${JSON.stringify(input)} to ${each.agent}`);
      }
    }
  }
  return faults;
}

function isMessage(event: Event, id: string): boolean {
  return event.type === "MessageReceived" && event.message_id === id;
}

/** Whether an event is the start of the turn of a request, or its message. */
function isSent(
  event: Event,
  requestId: string,
): event is Event & { readonly type: "RequestStarted" | "MessageReceived" } {
  if (event.forked_from) return false;
  if (event.type === "RequestStarted") return event.depth === 0 && event.request_id === requestId;
  return event.type === "MessageReceived" && event.message_id === requestId;
}
