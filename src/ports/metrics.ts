/** What has metrics, for example `createMetrics`. */
export interface MetricSource {
  /** All metrics with their present values. */
  families(): Promise<readonly MetricFamily[]>;
}

/** A metric with its present values, as the text of Prometheus has them. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly samples: readonly MetricSample[];
}

/** A value of a metric. Those of a histogram have the names `…_bucket`, with the label `le`, `…_sum` and `…_count`. */
export interface MetricSample extends LabeledValue {
  readonly name: string;
}

/** A value with its labels. */
export interface LabeledValue {
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
}
