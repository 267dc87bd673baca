import type { VNode } from "preact";
import { useMemo, useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RunView } from "../../view/run-view.ts";
import type { Restart } from "../data/restarts.ts";
import type { RunStore } from "../../client/store/run-store.ts";
import { useConsole } from "../app/context.ts";
import { lazy } from "../parts/lazy.tsx";
import { withQuery } from "../places/place.ts";

const PlayPart = lazy(async () => (await import("./play.tsx")).Play);

interface ScrubberProps {
  /** The newest view of the run. */
  readonly live: RunView;
  readonly events: RunStore["events"];
  readonly restarts: readonly Restart[];
  /** The event that is shown; absent while the newest is. */
  readonly at: number | undefined;
  onAt(eventId: number | undefined): void;
}

/** Chooses the event as of which a run is shown. */
export function Scrubber({ live, events, restarts, at, onAt }: ScrubberProps): VNode {
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
      <PlayPart events={events} head={head} at={at} onAt={onAt} />
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

/** A mark on the scrubber: something happened at this event. */
interface Mark {
  readonly id: number;
  readonly kind: "turn" | "question" | "failed" | "restart";
}

/** The marks of a run, in order; of very many, some evenly chosen ones. */
function toMarks({ turns, waits }: RunView, restarts: readonly Restart[]): readonly Mark[] {
  const marks: Mark[] = [
    ...turns.map(({ startedId }): Mark => ({ id: startedId, kind: "turn" })),
    ...waits.map(({ waitId }): Mark => ({ id: waitId, kind: "question" })),
    ...turns.flatMap(({ endedId, outcome }): Mark[] =>
      endedId !== undefined && outcome === "error" ? [{ id: endedId, kind: "failed" }] : [],
    ),
    ...restarts.map(({ after }): Mark => ({ id: after, kind: "restart" })),
  ];
  marks.sort((a, b) => a.id - b.id);
  const step = Math.ceil(marks.length / MOST);
  return step <= 1 ? marks : marks.filter((_, at) => at % step === 0);
}

/** The event at which the turn before or after an event begins or ends; `undefined` for live. */
function nextTurn({ turns, head }: RunView, at: number, step: 1 | -1): number | undefined {
  const stops = [1, ...turns.flatMap(({ startedId, endedId }) => [startedId, endedId ?? head]), head];
  const ordered = [...new Set(stops)].sort((a, b) => a - b);
  const next = step > 0 ? ordered.find((id) => id > at) : ordered.findLast((id) => id < at);
  return next === undefined && step < 0 ? 1 : next;
}

const MOST = 200;

/**
 * The event as of which the run is shown, and how to change it. It is part of the address, which follows when the
 * scrubber rests: a browser ignores an address that changes too often.
 */
export function useAt(): readonly [at: number | undefined, setAt: (at: number | undefined) => void] {
  const { place, go } = useConsole();
  const inAddress = parseAt(place.query["at"]);
  const [at, setAt] = useState(inAddress);
  const newest = useRef(place);
  newest.current = place;
  // The address is written after a pause; when it changes to what was written here, the scrubber can be elsewhere.
  const written = useRef(inAddress);
  useEffect(() => {
    if (inAddress === written.current) return;
    written.current = inAddress;
    setAt(inAddress);
  }, [inAddress]);
  useEffect(() => {
    if (at === parseAt(newest.current.query["at"])) return undefined;
    const timer = setTimeout(() => {
      written.current = at;
      go(withQuery(newest.current, { at: at === undefined ? undefined : String(at) }), { replace: true });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [at, go]);
  return [at, useCallback((next: number | undefined) => setAt(next), [])];
}

const REST_MS = 150;

function parseAt(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
