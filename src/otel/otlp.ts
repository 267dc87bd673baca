import { AgentError } from "../errors.ts";
import type { Listener } from "../node/listener.ts";
import type { MetricSource } from "../ports/metrics.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { exportMetrics } from "./export-metrics.ts";
import type { MetricExport, MetricExporter } from "./export-metrics.ts";
import { exportTraces } from "./export-traces.ts";
import type { TraceExporter } from "./sender.ts";
import type { Attributes } from "./span.ts";

/**
 * Makes the exporter of OpenTelemetry for traces to a collector that takes OTLP over HTTP: `http://localhost:4318` for example, to
 * which `/v1/traces` is added. Headers, time limits and certificates are those of `OTEL_EXPORTER_OTLP_…`. Needs the package
 * `@opentelemetry/exporter-trace-otlp-proto`.
 */
export async function otlpExporter(url: string): Promise<TraceExporter> {
  const at = addressOf(url, "/v1/traces");
  const { OTLPTraceExporter } = await load(
    "traces",
    () => import("@opentelemetry/exporter-trace-otlp-proto"),
    "@opentelemetry/exporter-trace-otlp-proto",
  );
  return new OTLPTraceExporter({ url: at });
}

/** The same for metrics, with `/v1/metrics`. Needs the package `@opentelemetry/exporter-metrics-otlp-proto`. */
export async function otlpMetricExporter(url: string): Promise<MetricExporter> {
  const at = addressOf(url, "/v1/metrics");
  const { OTLPMetricExporter } = await load(
    "metrics",
    () => import("@opentelemetry/exporter-metrics-otlp-proto"),
    "@opentelemetry/exporter-metrics-otlp-proto",
  );
  return new OTLPMetricExporter({ url: at });
}

/** The address of a collector for one kind of data. */
function addressOf(url: string, path: string): string {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new AgentError("invalid_request", `${JSON.stringify(url)} is not the address of a collector`, {
      hint: "for example http://localhost:4318",
    });
  const base = url.replace(/\/+$/, "").replace(/\/v1\/(?:traces|metrics)$/, "");
  return `${base}${path}`;
}

async function load<T>(what: string, loadPackage: () => Promise<T>, name: string): Promise<T> {
  try {
    return await loadPackage();
  } catch (cause) {
    throw new AgentError("unavailable", `${what} need the package ${name}`, {
      hint: `npm install @opentelemetry/api ${name}`,
      cause,
    });
  }
}

/** What makes the spans and has the metrics, as the variables `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say it. */
export function resourceFrom(variables: Readonly<Record<string, string | undefined>>): Attributes {
  const { OTEL_SERVICE_NAME: name = "", OTEL_RESOURCE_ATTRIBUTES: list = "" } = variables;
  const given = list.split(",").flatMap((entry) => {
    const at = entry.indexOf("=");
    return at < 1 ? [] : [[entry.slice(0, at).trim(), decode(entry.slice(at + 1).trim())] as const];
  });
  return {
    "service.name": "troupe",
    ...Object.fromEntries(given),
    ...(name !== "" && { "service.name": name }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a server sends to a collector. */
export interface ServerExports {
  /** Sends the traces, as long as the server listens. */
  readonly listeners: readonly Listener[];
  /** Sends the last metrics. Call it when the server and its runtime are closed. */
  close(): Promise<void>;
}

/**
 * Exports the traces and the metrics of a server to a collector, as the variables of OpenTelemetry say it: `OTEL_TRACES_EXPORTER=none`
 * or `OTEL_METRICS_EXPORTER=none` leaves one of them out, `OTEL_METRIC_EXPORT_INTERVAL` is the time between exports of metrics.
 */
export async function serverExports(
  url: string,
  metrics: MetricSource & Pick<Telemetry, "fault">,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<ServerExports> {
  const resource = resourceFrom(variables);
  const traces =
    variables["OTEL_TRACES_EXPORTER"] === "none"
      ? undefined
      : traceListener(url, await otlpExporter(url), resource);
  let running: MetricExport | undefined;
  if (variables["OTEL_METRICS_EXPORTER"] !== "none") {
    const intervalMs = Number(variables["OTEL_METRIC_EXPORT_INTERVAL"]);
    running = exportMetrics(metrics, {
      exporter: await otlpMetricExporter(url),
      resource,
      report: metrics.fault,
      ...(intervalMs > 0 && { intervalMs }),
    });
  }
  return {
    listeners: traces === undefined ? [] : [traces],
    close: async () => running?.close(),
  };
}

function traceListener(url: string, exporter: TraceExporter, resource: Attributes): Listener {
  return {
    name: "traces",
    async listen(runtime, { report }) {
      const traces = await exportTraces(runtime, { exporter, resource, report });
      return { address: new URL(url).host, close: () => traces.close() };
    },
  };
}
