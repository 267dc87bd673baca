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
export interface TraceResource {
  readonly attributes: Attributes;
  readonly schemaUrl: string;
  merge(): TraceResource;
  getRawAttributes(): [string, unknown][];
}

/** Names what makes the spans: `service.name` and what else is given. */
export function toResource(attributes: Attributes): TraceResource {
  const resource: TraceResource = {
    attributes,
    schemaUrl: CONVENTIONS.schemaUrl,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

/** Converts a span for an exporter. */
export function toReadableSpan(span: LogSpan, resource: TraceResource): ReadableSpan {
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
