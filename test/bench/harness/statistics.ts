/** The median of some numbers; NaN for none. */
export function median(numbers: readonly number[]): number {
  return percentile(numbers, 0.5);
}

/** The percentile of some numbers; NaN for none. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = Float64Array.from(numbers).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
