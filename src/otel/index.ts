export { exportMetrics } from "./export-metrics.ts";
export type { MetricExport, MetricExporter, MetricExportOptions } from "./export-metrics.ts";
export { exportTraces } from "./export-traces.ts";
export type { TraceExport, TraceOptions } from "./export-traces.ts";
export { liveTracing } from "./live-tracing.ts";
export type { ReadableSpan } from "./sender.ts";
export type { TraceExporter } from "./sender.ts";
export type {
  Attributes,
  AttributeValue,
  ContentOption,
  LogSpan,
  SpanContent,
  SpanEvent,
  SpanRole,
} from "./span.ts";
export { SpanFold } from "./spans.ts";
export { exportPast } from "./export-past.ts";
export type { PastOptions, PastRun } from "./export-past.ts";
export { otlpExporter, otlpMetricExporter } from "./otlp.ts";
