import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadSync } from "@grpc/proto-loader";
import type { ServiceDefinition } from "@grpc/proto-loader";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { expect, onTestFinished } from "vitest";

/** A span as OTLP has it. */
export interface SentSpan {
  readonly name: string;
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly attributes: readonly { readonly key: string }[];
}

interface ExportRequest {
  readonly resource_spans: readonly {
    readonly resource: object;
    readonly scope_spans: readonly { readonly scope: object; readonly spans: readonly SentSpan[] }[];
  }[];
}

/** A metric as OTLP has it. */
export interface SentMetric {
  readonly name: string;
  readonly unit?: string;
  readonly sum?: SentPoints<SentNumber> & { readonly is_monotonic: boolean };
  readonly gauge?: Pick<SentPoints<SentNumber>, "data_points">;
  readonly histogram?: SentPoints<SentHistogram>;
}

interface SentPoints<P> {
  readonly data_points: readonly P[];
  readonly aggregation_temporality: string;
}

interface SentPoint {
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly string_value: string };
  }[];
  readonly start_time_unix_nano: string;
  readonly time_unix_nano: string;
}

interface SentNumber extends SentPoint {
  readonly as_double: number;
}

interface SentHistogram extends SentPoint {
  readonly count: string;
  readonly sum: number;
  readonly bucket_counts: readonly string[];
  readonly explicit_bounds: readonly number[];
}

interface MetricsRequest {
  readonly resource_metrics: readonly {
    readonly scope_metrics: readonly { readonly metrics: readonly SentMetric[] }[];
  }[];
}

const services = loadSync(join(import.meta.dirname, "otlp.proto"), {
  keepCase: true,
  enums: String,
  longs: String,
  arrays: true,
});
const traceService = services["opentelemetry.TraceService"] as ServiceDefinition;
const metricsService = services["opentelemetry.MetricsService"] as ServiceDefinition;

/** A collector of traces and metrics, which reads what it gets by the messages of OTLP. */
export interface Collector {
  readonly url: string;
  /** The traces that it has got: each body is the bytes of one export. */
  readonly bodies: readonly Buffer[];
  /** The exports of metrics in the order in which they came, each with its metrics. */
  exports(): readonly (readonly SentMetric[])[];
  /** While it is away, it cuts connections. */
  isAway: boolean;
  /** All spans in the order in which they came, also those that came again. */
  spans(): readonly SentSpan[];
  /** Resolves when it has got a span of a name. */
  has(name: string): Promise<void>;
}

/** What the conventions require, by the operation: model/gen-ai/spans.yaml of the commit that `src/otel/conventions.ts` names. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  invoke_agent: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name"],
  invoke_workflow: ["gen_ai.operation.name"],
  execute_tool: ["gen_ai.operation.name", "gen_ai.tool.name"],
  chat: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"],
};

/** The attributes that the published package of the conventions names. */
const KNOWN = new Set<unknown>(Object.values(conventions));

/** Expects what the conventions require of a span, and no attribute of theirs that they do not have. */
export function expectConventions({ name, attributes }: SentSpan): void {
  const keys = attributes.map(({ key }) => key);
  expect(keys).toEqual(expect.arrayContaining([...(REQUIRED[name.split(" ")[0] ?? ""] ?? [])]));
  expect(keys.filter((key) => !key.startsWith("troupe.") && !KNOWN.has(key))).toEqual([]);
}

/** Starts a collector; it ends after the test. */
export async function startCollector(): Promise<Collector> {
  const bodies: Buffer[] = [];
  const metrics: Buffer[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => {
    if (collector.isAway) {
      request.socket.destroy();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      (request.url === "/v1/metrics" ? metrics : bodies).push(Buffer.concat(chunks));
      arrivals.emit("body");
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  });
  const spans = (): readonly SentSpan[] => bodies.flatMap(spansOf);
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans,
    isAway: false,
    exports: () => metrics.map(metricsOf),
    async has(name) {
      while (!spans().some((span) => span.name === name)) await once(arrivals, "body");
    },
  };
  return collector;
}

function metricsOf(body: Buffer): readonly SentMetric[] {
  const request = metricsService["Export"]?.requestDeserialize(body) as unknown as MetricsRequest;
  return request.resource_metrics.flatMap(({ scope_metrics: scopes }) =>
    scopes.flatMap((scope) => scope.metrics),
  );
}

/** The samples that Prometheus has for metrics, as `name{label="value"} number` by the names of their labels. */
export function samplesOf(metrics: readonly SentMetric[]): readonly string[] {
  const toSample = (name: string, labels: Readonly<Record<string, string>>, value: number): string => {
    const said = Object.keys(labels)
      .toSorted()
      .map((label) => `${label}="${labels[label] ?? ""}"`);
    return `${name}${said.length === 0 ? "" : `{${said.join(",")}}`} ${value}`;
  };
  const labelsOf = ({ attributes }: SentPoint): Record<string, string> =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, value.string_value]));
  return metrics.flatMap(({ name, sum, gauge, histogram }) => [
    ...[...(sum?.data_points ?? []), ...(gauge?.data_points ?? [])].map((point) =>
      toSample(name, labelsOf(point), point.as_double),
    ),
    ...(histogram?.data_points ?? []).flatMap((point) => {
      let below = 0;
      const buckets = point.bucket_counts.map((count, index) => {
        below += Number(count);
        const le = String(point.explicit_bounds[index] ?? "+Inf");
        return toSample(`${name}_bucket`, { ...labelsOf(point), le }, below);
      });
      const count = toSample(`${name}_count`, labelsOf(point), Number(point.count));
      return [...buckets, toSample(`${name}_sum`, labelsOf(point), point.sum), count];
    }),
  ]);
}

function spansOf(body: Buffer): readonly SentSpan[] {
  const request = traceService["Export"]?.requestDeserialize(body) as unknown as ExportRequest;
  return request.resource_spans.flatMap(({ scope_spans: scopes }) => scopes.flatMap((scope) => scope.spans));
}

/** The bytes of each span, once, in the order of their ids: equal for equal spans, however often they were exported. */
export function bytesOf(spans: readonly SentSpan[]): readonly string[] {
  return [...new Set(spans.map((span) => JSON.stringify(span)))].toSorted();
}

/** Each span as `name < name of its parent`, once, in alphabetical order. */
export function treeOf(spans: readonly SentSpan[]): readonly string[] {
  const names = new Map(spans.map((span) => [span.span_id.toString("hex"), span.name]));
  const once = new Map(spans.map((span) => [span.span_id.toString("hex"), span]));
  return [...once.values()]
    .map(({ name, parent_span_id: parent }) => {
      const id = parent.toString("hex");
      return `${name} < ${names.get(id) ?? id}`;
    })
    .toSorted();
}
