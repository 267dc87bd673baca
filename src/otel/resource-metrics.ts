import type { MetricFamily, MetricSample } from "../ports/metrics.ts";
import type { Attributes } from "./span.ts";

/** Metrics as exporters of OpenTelemetry take them (`ResourceMetrics` of its SDK). */
export interface ResourceMetrics {
  readonly resource: { readonly attributes: Attributes; getRawAttributes(): [string, unknown][] };
  readonly scopeMetrics: { readonly scope: { readonly name: string }; readonly metrics: MetricData[] }[];
}

/** A metric with its values. */
export interface MetricData {
  readonly descriptor: {
    readonly name: string;
    readonly description: string;
    readonly unit: string;
    readonly valueType: number;
  };
  readonly aggregationTemporality: number;
  readonly dataPointType: number;
  readonly isMonotonic?: boolean;
  readonly dataPoints: MetricPoint[];
}

/** A value of a metric, or its distribution. */
export interface MetricPoint {
  readonly startTime: [seconds: number, nanoseconds: number];
  readonly endTime: [seconds: number, nanoseconds: number];
  readonly attributes: Readonly<Record<string, string>>;
  readonly value: number | Distribution;
}

/** The values of a histogram. */
interface Distribution {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] };
  readonly count: number;
  readonly sum: number;
}

/** Converts what `/metrics` shows at a time: counters to sums since the start of the process, the others to what they are. */
export function toResourceMetrics(
  families: readonly MetricFamily[],
  attributes: Attributes,
  atMs: number,
): ResourceMetrics {
  const place = { startTime: toTime(performance.timeOrigin), endTime: toTime(atMs) };
  const metrics = families
    .filter(({ samples }) => samples.length > 0)
    .map((family): MetricData => ({
      // A unit would be put behind the name again by a collector that writes for Prometheus.
      descriptor: { name: family.name, description: family.help, unit: "", valueType: DOUBLE },
      aggregationTemporality: CUMULATIVE,
      ...toData(family, place),
    }));
  const resource = { attributes, getRawAttributes: () => Object.entries(attributes) };
  return { resource, scopeMetrics: [{ scope: { name: "troupe" }, metrics }] };
}

type Place = Pick<MetricPoint, "startTime" | "endTime">;

function toData(
  { name, type, samples }: MetricFamily,
  place: Place,
): Pick<MetricData, "dataPointType" | "isMonotonic" | "dataPoints"> {
  const points = (): MetricPoint[] =>
    samples.map(({ labels, value }) => ({ ...place, attributes: labels, value }));
  switch (type) {
    case "counter":
      return { dataPointType: SUM, isMonotonic: true, dataPoints: points() };
    case "histogram":
      return { dataPointType: HISTOGRAM, dataPoints: toDistributions(name, samples, place) };
    case "gauge":
    case "summary":
      return { dataPointType: GAUGE, dataPoints: points() };
    default: {
      const never: never = type;
      return never;
    }
  }
}

/** The distributions of a histogram by their labels. A bucket of Prometheus also counts what is in those below it. */
function toDistributions(name: string, samples: readonly MetricSample[], place: Place): MetricPoint[] {
  const byLabels = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels));
  return [...byLabels].map(([labels, of]) => {
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`);
    const valueOf = (end: string): number => of.find((sample) => sample.name === `${name}${end}`)?.value ?? 0;
    const value: Distribution = {
      buckets: {
        boundaries: buckets.map((bucket) => Number(bucket.labels["le"])).filter(Number.isFinite),
        counts: buckets.map((bucket, index) => bucket.value - (buckets[index - 1]?.value ?? 0)),
      },
      count: valueOf("_count"),
      sum: valueOf("_sum"),
    };
    return { ...place, attributes: JSON.parse(labels) as Readonly<Record<string, string>>, value };
  });
}

function toTime(ms: number): [seconds: number, nanoseconds: number] {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
}

// The numbers of the enumerations of OpenTelemetry.
const DOUBLE = 1;
const CUMULATIVE = 1;
const HISTOGRAM = 0;
const GAUGE = 2;
const SUM = 3;
