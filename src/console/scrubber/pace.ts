import type { RunStore } from "../../client/store/run-store.ts";

type Events = RunStore["events"];

/** How long to wait before the event after one is shown, at a speed. A long pause of the run is a short one here. */
export function pauseUntilNext(events: Events, shown: number, speed: number): number {
  const [from, to] = [timeOf(events, shown), timeOf(events, shown + 1)];
  if (from === undefined || to === undefined) return LEAST_MS;
  return Math.min(LONGEST_MS, Math.max(LEAST_MS, (to - from) / speed));
}

/** The next event behind one that is more than a piece of text; `undefined` for live. */
export function nextChange(events: Events, shown: number): number | undefined {
  const first = events[0]?.id ?? 1;
  for (let at = shown + 1 - first; at < events.length; at += 1) {
    const event = events[at];
    if (event !== undefined && !SMALL.has(event.type)) return at === events.length - 1 ? undefined : event.id;
  }
  return undefined;
}

const SMALL: ReadonlySet<string> = new Set(["TextOutput", "ReasoningOutput", "ToolProgress"]);
const LEAST_MS = 16;
const LONGEST_MS = 2_000;

function timeOf(events: Events, id: number): number | undefined {
  const ts = events[id - (events[0]?.id ?? 1)]?.ts;
  return ts === undefined ? undefined : Date.parse(ts);
}
