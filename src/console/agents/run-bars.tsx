import type { VNode } from "preact";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { listedState } from "../runs/run-words.ts";

interface RunBarsProps {
  /** The newest first. */
  readonly runs: readonly RunSummary[];
  /** How many there is room for. */
  readonly most: number;
}

/** Runs as bars, the newest at the right: the height says how long the last turn took, the colour how it ended. */
export function RunBars({ runs, most }: RunBarsProps): VNode {
  const shown = runs.slice(0, most).toReversed();
  const times = shown.map(lengthOf);
  const longest = Math.max(...times, 1);
  const { ended, failed } = tally(runs);
  return (
    <svg
      class="run-bars"
      width={most * STEP}
      height={HEIGHT}
      viewBox={`0 0 ${most * STEP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`The last ${ended} turns that ended, ${failed} of them failed`}
    >
      <line x1={0} x2={most * STEP} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {shown.map((run, at) => {
        const height = LEAST + (HEIGHT - LEAST - 1) * (Math.log1p(times[at] ?? 0) / Math.log1p(longest));
        return (
          <rect
            key={run.run_id}
            class={listedState(run)?.name ?? "canceled"}
            x={(most - shown.length + at) * STEP}
            y={HEIGHT - 1 - height}
            width={STEP - 2}
            height={height}
            rx={1}
          />
        );
      })}
    </svg>
  );
}

const STEP = 7;
const HEIGHT = 28;
const LEAST = 4;

/** How many of the runs have had a turn that ended, and how many of these turns failed. */
export function tally(runs: readonly RunSummary[]): { readonly ended: number; readonly failed: number } {
  const ended = runs.filter(({ last_turn: last }) => last?.ended_at !== undefined);
  const failed = ended.filter(({ last_turn: last }) => last?.finish_reason === "error");
  return { ended: ended.length, failed: failed.length };
}

function lengthOf({ last_turn: last }: RunSummary): number {
  return last?.ended_at === undefined
    ? 0
    : Math.max(0, Date.parse(last.ended_at) - Date.parse(last.started_at));
}
