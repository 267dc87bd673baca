import type { VNode } from "preact";
import { clockTime, duration } from "../parts/time.ts";
import type { Axis } from "./axis.ts";

interface RestartLinesProps {
  readonly restarts: readonly { readonly at: string; readonly share: number }[];
}

/** Lines across all bars where the server was started again. */
export function RestartLines({ restarts }: RestartLinesProps): VNode {
  return (
    <div class="timeline-restarts">
      {restarts.map(({ at, share }) => (
        <span
          key={at}
          style={{ left: `${share * 100}%` }}
          title={`The server was started again and continued here, ${clockTime(at)}`}
        >
          started again
        </span>
      ))}
    </div>
  );
}

/** The times of the axis, and the pauses that are cut out of it. */
export function AxisLine({ axis }: { readonly axis: Axis }): VNode {
  const { cuts } = axis;
  // A time that the length of a pause would cover is left out.
  const ticks = axis.ticks.filter((tick) => cuts.every((cut) => Math.abs(cut.share - tick.share) > NEAR));
  return (
    <div class="timeline-axis" aria-hidden="true">
      <div class="timeline-ticks">
        {ticks.map(({ share, ms }) => (
          <span key={ms} class="tick" style={{ left: `${share * 100}%` }}>
            {duration(ms)}
          </span>
        ))}
        {cuts.map(({ share, ms }) => (
          <span
            key={share}
            class="cut"
            title={`${duration(ms)} in which nothing worked`}
            style={{ left: `${share * 100}%` }}
          >
            {"//"} {duration(ms)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The width of a label, as a share of the axis. */
const NEAR = 0.16;

/** What the bars mean. */
export function Legend(): VNode {
  return (
    <span class="legend second" aria-hidden="true">
      <span class="swatch done" /> worked
      <span class="swatch waiting" /> waited
      <span class="swatch sleeping" /> slept
      <span class="swatch queued" /> queued
    </span>
  );
}
