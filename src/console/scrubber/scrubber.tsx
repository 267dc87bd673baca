import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { RunView } from "../../view/run-view.ts";
import type { Restart } from "../data/restarts.ts";
import { nextTurn, toMarks } from "./marks.ts";

interface ScrubberProps {
  /** The newest view of the run. */
  readonly live: RunView;
  readonly restarts: readonly Restart[];
  /** The event that is shown; absent while the newest is. */
  readonly at: number | undefined;
  onAt(eventId: number | undefined): void;
}

/** Chooses the event as of which a run is shown. */
export function Scrubber({ live, restarts, at, onAt }: ScrubberProps): VNode {
  const { head } = live;
  const shown = at ?? head;
  const marks = useMemo(() => toMarks(live, restarts), [live, restarts]);
  const choose = (id: number): void => onAt(id >= head ? undefined : Math.max(1, id));
  return (
    <footer class="scrubber">
      <button
        type="button"
        class={at === undefined ? "button small live" : "button small"}
        aria-pressed={at === undefined}
        onClick={() => onAt(undefined)}
      >
        Live
      </button>
      <div class="scrub">
        <input
          type="range"
          aria-label="Event"
          min={1}
          max={Math.max(1, head)}
          value={shown}
          aria-valuenow={shown}
          aria-valuemax={head}
          aria-valuetext={`event ${shown} of ${head}`}
          disabled={head === 0}
          onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
          onKeyDown={(event) => {
            const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : undefined;
            if (event.key === "End") onAt(undefined);
            else if (step !== undefined && event.shiftKey) choose(nextTurn(live, shown, step) ?? head);
            else return;
            event.preventDefault();
          }}
        />
        <div class="marks" aria-hidden="true">
          {marks.map(({ id, kind }) => (
            <span
              key={`${kind} ${id}`}
              class={`mark-${kind}`}
              title={`${WORDS[kind]} at event ${id}`}
              style={{ left: `${head <= 1 ? 0 : ((id - 1) / (head - 1)) * 100}%` }}
            />
          ))}
        </div>
      </div>
      <span class="second number">
        event {shown} of {head}
      </span>
    </footer>
  );
}

const WORDS = {
  turn: "a turn began",
  question: "a question",
  failed: "a turn failed",
  restart: "started again",
} as const;
