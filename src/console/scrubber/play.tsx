import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunStore } from "../../client/store/run-store.ts";

interface PlayProps {
  readonly events: Events;
  readonly head: number;
  /** The event that is shown; absent while the newest is. */
  readonly at: number | undefined;
  onAt(eventId: number | undefined): void;
}

/** Plays a run again: at its own pace, ten times as fast, or one change after the other. */
export function Play({ events, head, at, onAt }: PlayProps): VNode {
  const [speed, setSpeed] = useState<number>();
  const shown = at ?? head;
  const isOver = shown >= head;
  useEffect(() => {
    if (speed === undefined) return undefined;
    if (isOver) {
      setSpeed(undefined);
      return undefined;
    }
    const timer = setTimeout(
      () => onAt(shown + 1 >= head ? undefined : shown + 1),
      pauseUntilNext(events, shown, speed),
    );
    return () => clearTimeout(timer);
  }, [speed, shown, head, isOver, events, onAt]);
  const play = (next: number): void => {
    // At the end it begins anew.
    if (isOver) onAt(1);
    setSpeed(speed === next ? undefined : next);
  };
  const button = (pace: number): VNode => (
    <button
      type="button"
      class="button quiet small"
      aria-pressed={speed === pace}
      aria-label={speed === pace ? "Pause" : `Play at ${pace}×`}
      disabled={head < 2}
      onClick={() => play(pace)}
    >
      {speed === pace ? "❚❚" : `▶ ${pace}×`}
    </button>
  );
  return (
    <div class="play">
      {button(1)}
      {button(10)}
      <button
        type="button"
        class="button quiet small"
        title="The next state, question, call or end"
        disabled={head < 2}
        onClick={() => {
          setSpeed(undefined);
          onAt(nextChange(events, isOver ? 1 : shown));
        }}
      >
        Next change
      </button>
    </div>
  );
}

type Events = RunStore["events"];

/** How long to wait before the event after one is shown, at a speed. A long pause of the run is a short one here. */
function pauseUntilNext(events: Events, shown: number, speed: number): number {
  const [from, to] = [timeOf(events, shown), timeOf(events, shown + 1)];
  if (from === undefined || to === undefined) return LEAST_MS;
  return Math.min(LONGEST_MS, Math.max(LEAST_MS, (to - from) / speed));
}

/** The next event behind one that is more than a piece of text; `undefined` for live. */
function nextChange(events: Events, shown: number): number | undefined {
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
