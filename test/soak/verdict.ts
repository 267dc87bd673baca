/** What was measured again and again over a soak, in the order of time. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
  /** A growth that means nothing, in the unit: pools and caches that fill up, the resolution of a clock. */
  readonly least: number;
  /** Whether its lowest values count and not those in the middle: a heap is as large as what a collection leaves of it. */
  readonly hasTeeth?: boolean;
}

/** Whether a series stays where it is. */
export interface Verdict {
  readonly isFlat: boolean;
  /** By how much it has grown after the warm-up, by its slope. */
  readonly growth: number;
  /** What it swings around its slope. */
  readonly noise: number;
  /** In the middle of its time. */
  readonly middle: number;
}

/**
 * Judges a series by its slope, which is the median of the slopes between any two values, so that single peaks do not count. It is
 * flat if it has grown by less than it swings anyway, or by less than what means nothing. The first third is the warm-up. A series
 * that is too short says nothing, so it is not flat.
 */
export function judge({ values, least, hasTeeth = false }: Series): Verdict {
  const warm = values.slice(Math.ceil(values.length / 3));
  const points = hasTeeth ? inBuckets(warm, 5, (part) => Math.min(...part)) : inBuckets(warm, 1, median);
  if (points.length < FEWEST) return { isFlat: false, growth: NaN, noise: NaN, middle: NaN };
  const slopes: number[] = [];
  for (const [from, low] of points.entries())
    for (let to = from + 1; to < points.length; to += 1)
      slopes.push(((points[to] as number) - low) / (to - from));
  const slope = median(slopes);
  const middle = median(points);
  const rests = points.map((value, index) =>
    Math.abs(value - middle - slope * (index - (points.length - 1) / 2)),
  );
  const noise = WIDE * median(rests);
  const growth = slope * (points.length - 1);
  return { isFlat: growth <= Math.max(noise, least), growth, noise, middle };
}

/** Fewer values show no slope. */
const FEWEST = 10;

/** Four times the median of the distances contains nearly all values of what only swings. */
const WIDE = 4;

/** One value for each of at most a hundred parts of the time. */
function inBuckets(
  values: readonly number[],
  least: number,
  toOne: (part: readonly number[]) => number,
): readonly number[] {
  const size = Math.max(least, Math.ceil(values.length / 100));
  const buckets: number[] = [];
  for (let at = 0; at + size <= values.length; at += size) buckets.push(toOne(values.slice(at, at + size)));
  return buckets;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
