import "../styles/charts.css";
import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TimePoint } from "./time-point.ts";
import { clockTime } from "./time.ts";

interface LineChartProps {
  readonly title: string;
  readonly points: readonly TimePoint[];
  /** A second line in the colour of failures. */
  readonly failed?: readonly TimePoint[];
  /** What the newest value is of. Default `now`. */
  readonly newest?: string;
  toText(value: number): string;
  /** A time at the axis. Default: the time of day. */
  toWhen?(at: number): string;
}

/** A line over time, from zero up. The value under the pointer, or else the newest one, stands beside the title. */
export function LineChart({
  title,
  points,
  failed = [],
  newest = "now",
  toText,
  toWhen = clockTime,
}: LineChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  const [pointed, setPointed] = useState<number>();
  // Before the browser paints, so that the chart is not drawn in another width first.
  useLayoutEffect(() => {
    if (box.current === null) return undefined;
    const fit = (px: number): void => setWidth(Math.max(160, px));
    fit(box.current.clientWidth);
    const resized = new ResizeObserver(([entry]) => fit(entry?.contentRect.width ?? 0));
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  const known = points.filter(({ value }) => value !== undefined);
  const to = points.at(-1)?.at ?? LEAST_MS;
  const from = Math.min(points[0]?.at ?? 0, to - LEAST_MS);
  const top = niceTop(Math.max(0, ...known.map(({ value = 0 }) => value)));
  const toX = (at: number): number => ((at - from) / (to - from)) * width;
  const toY = (value: number): number => HEIGHT - 1 - (value / top) * (HEIGHT - 8);
  const shown = pointed === undefined ? known.at(-1) : nearest(known, from + pointed * (to - from));
  const last = known.at(-1)?.value;
  const also = failed.find(({ at }) => at === shown?.at)?.value;
  const highest =
    known.length === 0 ? "" : `, at most ${toText(Math.max(...known.map(({ value = 0 }) => value)))}`;
  return (
    <figure class="line-chart">
      <figcaption>
        <span>{title}</span>
        <span class="number value">
          {shown?.value === undefined ? "–" : toText(shown.value)}
          {also !== undefined && also > 0 && <span class="failures"> {toText(also)} failed</span>}
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot"
        role="img"
        aria-label={`${title}: ${last === undefined ? "not known yet" : `${toText(last)} ${newest}`}${highest}`}
        onPointerMove={({ clientX, currentTarget }) => {
          const { left, width: wide } = currentTarget.getBoundingClientRect();
          setPointed(Math.min(1, Math.max(0, (clientX - left) / wide)));
        }}
        onPointerLeave={() => setPointed(undefined)}
      >
        <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
          <line class="base" x1={0} x2={width} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
          <line class="grid" x1={0} x2={width} y1={toY(top)} y2={toY(top)} />
          <path class="line" d={toPath(points, toX, toY)} />
          <path
            class="line failed"
            d={toPath(failed.some(({ value = 0 }) => value > 0) ? failed : [], toX, toY)}
          />
          {points.filter(isLone).map(({ at, value = 0 }) => (
            <circle key={at} cx={Math.min(width - 3, Math.max(3, toX(at)))} cy={toY(value)} r={2.5} />
          ))}
          {pointed !== undefined && shown?.value !== undefined && (
            <circle cx={toX(shown.at)} cy={toY(shown.value)} r={4} />
          )}
        </svg>
      </div>
      <p class="axis second number" aria-hidden="true">
        <span>{from === 0 ? "" : toWhen(from)}</span>
        <span>{known.length > 0 && `0 – ${toText(top)}`}</span>
        <span>{pointed === undefined || shown === undefined ? newest : toWhen(shown.at)}</span>
      </p>
    </figure>
  );
}

const HEIGHT = 96;
/** The least time that a chart has, so that one that has just begun does not stretch a few values. */
const LEAST_MS = 60_000;

/** A line that is broken where nothing is known. */
function toPath(
  points: readonly TimePoint[],
  toX: (at: number) => number,
  toY: (value: number) => number,
): string {
  let isDown = false;
  const parts: string[] = [];
  for (const { at, value } of points) {
    if (value !== undefined)
      parts.push(`${isDown ? "L" : "M"}${toX(at).toFixed(1)} ${toY(value).toFixed(1)}`);
    isDown = value !== undefined;
  }
  return parts.join("");
}

/** Whether nothing is known before and after a point: a line cannot show it. */
function isLone({ value }: TimePoint, at: number, points: readonly TimePoint[]): boolean {
  return value !== undefined && points[at - 1]?.value === undefined && points[at + 1]?.value === undefined;
}

function nearest(points: readonly TimePoint[], at: number): TimePoint | undefined {
  let found = points[0];
  for (const point of points) if (Math.abs(point.at - at) < Math.abs((found?.at ?? 0) - at)) found = point;
  return found;
}

/** The upper end of an axis: 1, 2 or 5 times a power of ten. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
