/** The values of a page of metrics by name; values with labels are added up. */
export type Metrics = ReadonlyMap<string, number>;

/** Reads metrics in the text format of Prometheus. */
export function parseMetrics(text: string): Metrics {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z_:][\w:]*)(?:\{.*\})? (\S+)$/i.exec(line) ?? [];
    const number = Number(value);
    if (name === undefined || Number.isNaN(number)) continue;
    values.set(name, (values.get(name) ?? 0) + number);
  }
  return values;
}

/** How much a value grew a second between two readings; `undefined` before the second one, and after a restart. */
export function perSecond(
  name: string,
  before: { readonly metrics: Metrics; readonly at: number } | undefined,
  now: { readonly metrics: Metrics; readonly at: number },
): number | undefined {
  const [from, to] = [before?.metrics.get(name), now.metrics.get(name)];
  if (before === undefined || from === undefined || to === undefined || to < from) return undefined;
  const seconds = (now.at - before.at) / 1_000;
  return seconds > 0 ? (to - from) / seconds : undefined;
}
