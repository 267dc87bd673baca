import type { Event } from "../../../src/protocol/events/events.ts";
import { TIMER_AGENT } from "../../../src/runtime/agent/definition/timer-agent.ts";
import type { TimedRequest } from "../../../src/runtime/agent/definition/timer-agent.ts";

type ToolCall = Event & { readonly type: "ToolCall" };

/** The logs of all runs, and the requests in them. */
export interface ScheduleLogs {
  readonly runs: ReadonlyMap<string, LoggedRun>;
  readonly requests: ReadonlyMap<string, LoggedRequest>;
}

interface LoggedRun {
  readonly events: readonly Event[];
  readonly removed: boolean;
}

interface LoggedRequest {
  readonly runId: string;
  readonly end?: Event & { readonly type: "RequestCompleted" };
}

/**
 * The laws of `turn.schedule`: what a turn has scheduled is sent once, to the actor that it names,
 * and not before its time. A sleep does not last longer when the wall clock is set back, so it may be that much too early.
 */
export function findMistimed({ requests, runs }: ScheduleLogs, backMs = 0): readonly string[] {
  const faults: string[] = [];
  for (const [runId, { events }] of runs) {
    for (const event of events) {
      if (event.type !== "ToolCall" || event.callee?.name !== TIMER_AGENT || event.forked_from) continue;
      const requestId = event.callee.request_id ?? "";
      const timer = requests.get(requestId);
      const isTaken = events.some(
        (end) => end.type === "ToolResult" && end.tool_call_id === event.tool_call_id,
      );
      const what = `${requestId}, scheduled by ${event.tool_call_id} of ${runId},`;
      if (timer === undefined && isTaken) faults.push(`${what} is lost`);
      const run = timer && runs.get(timer.runId);
      if (timer?.end === undefined || run === undefined || run.removed) continue;
      const scheduled = event.args as unknown as TimedRequest;
      const sent = sentBy(run, requestId);
      if (sent.length > 1 || (sent.length === 0 && timer.end.finish_reason === "success"))
        faults.push(`${what} was sent ${sent.length} times`);
      for (const { callee, args, ts } of sent) {
        if (Date.parse(ts) < Math.floor(scheduled.at) - backMs)
          faults.push(`${what} was sent at ${ts}, before its time`);
        if (callee?.key !== scheduled.key || JSON.stringify(args) !== JSON.stringify(scheduled.input))
          faults.push(`${what} was sent as ${JSON.stringify(args)} to ${String(callee?.key)}`);
      }
    }
  }
  return faults;
}

/** The calls of a turn of the timer agent. */
function sentBy({ events }: LoggedRun, requestId: string): readonly ToolCall[] {
  return events.filter(
    (event): event is ToolCall => event.type === "ToolCall" && event.request_id === requestId,
  );
}
