import type { TimePoint } from "../parts/time-point.ts";

/** The values of a page of metrics by name; values with labels are added up. */
export type MetricValues = ReadonlyMap<string, number>;

/** MetricValues at a moment. */
export interface Sample {
  readonly metrics: MetricValues;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** Reads metrics in the text format of Prometheus. Turns that have failed are also counted by themselves, as `FAILED_TURNS`. */
export function parseMetrics(text: string): MetricValues {
  const values = new Map<string, number>();
  const add = (name: string, number: number): void => void values.set(name, (values.get(name) ?? 0) + number);
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = /^([a-z_:][\w:]*)(\{.*\})? (\S+)$/i.exec(line) ?? [];
    const number = Number(value);
    if (name === undefined || Number.isNaN(number)) continue;
    add(name, number);
    if (name === TURNS && labels.includes('reason="error"')) add(FAILED_TURNS, number);
  }
  // A counter with labels has no line before the first of them.
  if (values.has("troupe_commits_total")) for (const name of [TURNS, FAILED_TURNS]) add(name, 0);
  return values;
}

export const TURNS = "troupe_turn_seconds_count";
export const FAILED_TURNS = "failed turns";

/** Samples of the last hour, the oldest first. */
export function keepSample(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const first = samples.findIndex(({ at }) => at > next.at - HOUR_MS);
  return [...(first === -1 ? [] : samples.slice(first)), next];
}

/** What was counted a second between each two samples. */
export function rateOf(samples: readonly Sample[], name: string): readonly TimePoint[] {
  return between(samples, (before, now, seconds) => growth(before, now, name, (more) => more / seconds));
}

/** The mean of a histogram between each two samples, in its unit. */
export function meanOf(samples: readonly Sample[], name: string): readonly TimePoint[] {
  return between(samples, (before, now) => {
    const count = growth(before, now, `${name}_count`, (more) => more);
    return count === 0 || count === undefined
      ? undefined
      : growth(before, now, `${name}_sum`, (more) => more / count);
  });
}

/** The value of a gauge at each sample. */
export function valueOf(samples: readonly Sample[], name: string): readonly TimePoint[] {
  return samples.map(({ metrics, at }) => ({ at, value: metrics.get(name) }));
}

const HOUR_MS = 3_600_000;

function between(
  samples: readonly Sample[],
  of: (before: MetricValues, now: MetricValues, seconds: number) => number | undefined,
): readonly TimePoint[] {
  return samples.flatMap((now, index) => {
    const before = samples[index - 1];
    if (before === undefined) return [];
    const seconds = (now.at - before.at) / 1_000;
    // The page was elsewhere meanwhile.
    if (seconds > GAP_S) return [{ at: before.at + 1, value: undefined }];
    return [{ at: now.at, value: of(before.metrics, now.metrics, seconds) }];
  });
}

const GAP_S = 30;

/** How much a counter grew; `undefined` if it is not there, or has begun anew. */
function growth(
  before: MetricValues,
  now: MetricValues,
  name: string,
  of: (more: number) => number,
): number | undefined {
  const [from, to] = [before.get(name), now.get(name)];
  return from === undefined || to === undefined || to < from ? undefined : of(to - from);
}
