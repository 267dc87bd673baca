import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { InMemorySpanExporter } from "@opentelemetry/sdk-trace";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

/** What an exporter has got, by names that a test reads. */
export class Collected extends InMemorySpanExporter {
  /** The spans with their names, the newest of those with one name. */
  get byName(): Readonly<Record<string, ReadableSpan>> {
    return Object.fromEntries(this.getFinishedSpans().map((span) => [span.name, span]));
  }

  /** Keeps what it has, so that a test can look at it. */
  override async shutdown(): Promise<void> {}

  /** Each span as `name < name of its parent`, in the order of the export. */
  get tree(): readonly string[] {
    const spans = this.getFinishedSpans();
    const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    return spans.map(({ name, parentSpanContext: parent }) =>
      parent === undefined ? name : `${name} < ${names.get(parent.spanId) ?? parent.spanId}`,
    );
  }

  get traceIds(): readonly string[] {
    return [...new Set(this.getFinishedSpans().map((span) => span.spanContext().traceId))];
  }

  /** The bytes that OTLP has for the spans, each once and in the order of their ids. */
  get bytes(): readonly string[] {
    const encoded = this.getFinishedSpans().map((span) =>
      Buffer.from(ProtobufTraceSerializer.serializeRequest([span]) ?? []).toString("base64"),
    );
    return [...new Set(encoded)].toSorted();
  }
}
