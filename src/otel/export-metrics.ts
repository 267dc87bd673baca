import { AgentError } from "../errors.ts";
import type { MetricSource } from "../ports/metrics.ts";
import { toResourceMetrics } from "./resource-metrics.ts";
import type { ResourceMetrics } from "./resource-metrics.ts";
import type { Attributes } from "./span.ts";

/** How the metrics of a server are exported. */
export interface MetricExportOptions {
  readonly exporter: MetricExporter;
  /** The time from one export to the next, in milliseconds. Default a minute. */
  readonly intervalMs?: number;
  /** What has the metrics. Default `{ "service.name": "troupe" }`. */
  readonly resource?: Attributes;
  /** Gets what went wrong; the next export has the same sums and more. Default: nothing is told. */
  readonly report?: (where: string, thrown: unknown) => void;
}

/** What metrics are given to: an exporter of OpenTelemetry, for example `OTLPMetricExporter`. */
export interface MetricExporter {
  /** @param metrics `ResourceMetrics` of the SDK of OpenTelemetry. */
  export(metrics: object, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/** An export that runs. */
export interface MetricExport {
  /** Exports the present values; rejects if the exporter does not take them. */
  flush(): Promise<void>;
  /** Exports a last time, for two seconds at most, and shuts the exporter down. Call it when the runtime is closed. */
  close(): Promise<void>;
}

/**
 * Exports what `/metrics` shows, each minute, with the same names, types and labels. Sums count from the start of the process, so
 * nothing is missing after a collector was away.
 */
export function exportMetrics(metrics: MetricSource, options: MetricExportOptions): MetricExport {
  const { exporter, intervalMs = MINUTE_MS, resource = { "service.name": "troupe" } } = options;
  const { report = () => {} } = options;
  let hasFailed = false;
  /** The export that runs; there is one at a time, because an older one must not come later. */
  let running: Promise<void> = Promise.resolve();

  const flush = (): Promise<void> => {
    const next = running.then(async () =>
      send(exporter, toResourceMetrics(await metrics.families(), resource, Date.now())),
    );
    running = next.catch(() => {});
    return next;
  };
  let isDue = true;
  const timer = setInterval(
    () => {
      if (!isDue) return;
      isDue = false;
      flush()
        .then(
          () => (hasFailed = false),
          (thrown: unknown) => {
            // While the collector is away, the next failures are only to be expected.
            if (!hasFailed) report("metrics cannot be exported", thrown);
            hasFailed = true;
          },
        )
        .finally(() => (isDue = true));
    },
    Math.min(intervalMs, MOST_MS),
  );
  // The export alone does not keep a process alive.
  timer.unref();

  return {
    flush,
    async close() {
      clearInterval(timer);
      const late = Promise.withResolvers<void>();
      const limit = setTimeout(late.resolve, LAST_MS);
      const last = flush().catch((thrown: unknown) => report("the last metrics cannot be exported", thrown));
      await Promise.race([last, late.promise]);
      await Promise.race([exporter.shutdown(), late.promise]);
      clearTimeout(limit);
    },
  };
}

/** Resolves when the exporter has taken the metrics. */
function send(exporter: MetricExporter, metrics: ResourceMetrics): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown): void =>
      reject(new AgentError("unavailable", `metrics were not exported: ${reason}`, { cause }));
    const timer = setTimeout(() => fail(`the exporter did not answer within ${LIMIT_MS} ms`), LIMIT_MS);
    exporter.export(metrics, ({ code, error }) => {
      clearTimeout(timer);
      if (code === SUCCESS) resolve();
      else fail(error?.message ?? "the exporter failed", error);
    });
  });
}

const SUCCESS = 0;
const MINUTE_MS = 60_000;
/** A timer of Node has no longer time. */
const MOST_MS = 2_147_483_647;
/** How long the end waits for the newest values. */
const LAST_MS = 2_000;
const LIMIT_MS = 30_000;
