import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RunStore } from "../../client/store/run-store.ts";
import { nextChange, pauseUntilNext } from "./pace.ts";

interface PlayProps {
  readonly events: RunStore["events"];
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
