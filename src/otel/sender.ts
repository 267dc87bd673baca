import { AgentError } from "../errors.ts";
import type { SpanPlace } from "../shared/trace-context.ts";
import { CONVENTIONS } from "./conventions.ts";
import type { Attributes, LogSpan, SpanRole } from "./span.ts";

/** A time as OpenTelemetry has it: seconds since 1970, and nanoseconds. */
type Time = [seconds: number, nanoseconds: number];

/** Where a span is, as OpenTelemetry has it. */
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** A span as exporters of OpenTelemetry take it (`ReadableSpan` of its SDK). */
export interface ReadableSpan {
  readonly name: string;
  readonly kind: number;
  spanContext(): SpanContext;
  readonly parentSpanContext?: SpanContext;
  readonly startTime: Time;
  readonly endTime: Time;
  readonly duration: Time;
  readonly ended: boolean;
  readonly status: { readonly code: number; readonly message?: string };
  readonly attributes: object;
  readonly events: readonly { readonly name: string; readonly time: Time; readonly attributes?: object }[];
  readonly links: readonly { readonly context: SpanContext }[];
  readonly resource: object;
  readonly instrumentationScope: object;
  readonly droppedAttributesCount: number;
  readonly droppedEventsCount: number;
  readonly droppedLinksCount: number;
}

/** What makes the spans, as every one of them says it. */
interface TraceResource {
  readonly attributes: Attributes;
  readonly schemaUrl: string;
  merge(): TraceResource;
  getRawAttributes(): [string, unknown][];
}

/** Names what makes the spans: `service.name` and what else is given. */
function toResource(attributes: Attributes): TraceResource {
  const resource: TraceResource = {
    attributes,
    schemaUrl: CONVENTIONS.schemaUrl,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

/** Converts a span for an exporter. */
function toReadableSpan(span: LogSpan, resource: TraceResource): ReadableSpan {
  const { name, kind, startMs, endMs, attributes, events, links, error, parentSpanId } = span;
  const context = toContext(span);
  return {
    name,
    kind: KINDS[kind],
    spanContext: () => context,
    ...(parentSpanId !== undefined && {
      parentSpanContext: { ...context, spanId: parentSpanId, isRemote: span.isParentRemote === true },
    }),
    startTime: toTime(startMs),
    endTime: toTime(endMs),
    duration: toTime(endMs - startMs),
    ended: true,
    status: error === undefined ? { code: UNSET } : { code: FAILED, message: error },
    attributes,
    events: events.map((event) => ({
      name: event.name,
      time: toTime(event.atMs),
      attributes: event.attributes,
    })),
    links: links.map((link) => ({ context: { ...toContext(link), isRemote: true } })),
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const SCOPE = { name: "troupe", schemaUrl: CONVENTIONS.schemaUrl };

const KINDS: Readonly<Record<SpanRole, number>> = { internal: 0, client: 2, producer: 3 };

const UNSET = 0;
const FAILED = 2;

function toContext({ traceId, spanId, isSampled }: SpanPlace): SpanContext {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0 };
}

function toTime(ms: number): Time {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
}

/** What spans are given to: an exporter of OpenTelemetry, for example `OTLPTraceExporter`. */
export interface TraceExporter {
  export(
    spans: ReadableSpan[],
    done: (result: { readonly code: number; readonly error?: Error }) => void,
  ): void;
  shutdown(): Promise<void>;
}

/** Collects spans and gives them to an exporter, some hundred at a time. */
export class SpanSender {
  readonly #exporter: TraceExporter;
  readonly #resource: TraceResource;
  #spans: ReadableSpan[] = [];
  /** The spans that the exporter has taken. */
  sent = 0;

  constructor(exporter: TraceExporter, attributes: Attributes) {
    this.#exporter = exporter;
    this.#resource = toResource(attributes);
  }

  /** Adds spans; those of traces that are not sampled are left out. Resolves when there is room for more. */
  async add(spans: readonly LogSpan[]): Promise<void> {
    for (const span of spans) if (span.isSampled) this.#spans.push(toReadableSpan(span, this.#resource));
    if (this.#spans.length >= BATCH) await this.flush();
  }

  /** Resolves when the exporter has taken all spans; throws if it has not, and forgets them. */
  async flush(): Promise<void> {
    const spans = this.#spans;
    this.#spans = [];
    while (spans.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- an exporter is given one batch after the other
      await this.#export(spans.splice(0, BATCH));
    }
  }

  #export(spans: ReadableSpan[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const { length } = spans;
      const fail = (reason: string, cause?: unknown): void =>
        reject(new AgentError("unavailable", `${length} spans were not exported: ${reason}`, { cause }));
      const timer = setTimeout(() => fail(`the exporter did not answer within ${LIMIT_MS} ms`), LIMIT_MS);
      this.#exporter.export(spans, ({ code, error }) => {
        clearTimeout(timer);
        if (code !== SUCCESS) return fail(error?.message ?? "the exporter failed", error);
        this.sent += length;
        resolve();
      });
    });
  }
}

const SUCCESS = 0;

/** Spans that are exported at once, as the batch processor of OpenTelemetry has it. */
const BATCH = 512;

const LIMIT_MS = 60_000;
