import { hex64 } from "./digest.ts";

/** The trace that a request belongs to, as W3C Trace Context and W3C Baggage write it in headers. */
export interface TraceContext {
  /** `00-` trace id `-` span id `-` flags, in hexadecimal digits. */
  readonly traceparent: string;
  readonly tracestate?: string;
  /** What the caller wants everyone to know that the request leads to. */
  readonly baggage?: string;
}

/** A place in a trace: a span, by its id. */
export interface SpanPlace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether who began the trace wants it to be recorded. */
  readonly isSampled: boolean;
}

/** What `traceparent` looks like in the only version that there is. */
export const TRACEPARENT: RegExp = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The maximum length of `tracestate`, and of `baggage`, as their standards have it. */
export const TRACESTATE_LENGTH = 512;
export const BAGGAGE_LENGTH = 8_192;

/** Reads a `traceparent`; `undefined` if it is none. */
export function parseTraceparent(text: string): SpanPlace | undefined {
  if (!TRACEPARENT.test(text)) return undefined;
  const [, traceId = "", spanId = "", flags = "0"] = text.split("-");
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes a place in a trace as `traceparent`. */
export function toTraceparent({ traceId, spanId, isSampled }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** Reads the headers of a request. What is not valid is left out, as the standard says. */
export function readTraceHeaders(header: (name: string) => string | undefined): TraceContext | undefined {
  const traceparent = header("traceparent")?.trim();
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
  const tracestate = header("tracestate");
  const baggage = header("baggage");
  return {
    traceparent,
    ...(isKept(tracestate, TRACESTATE_LENGTH) && { tracestate }),
    ...(isKept(baggage, BAGGAGE_LENGTH) && { baggage }),
  };
}

/** The trace of a request that came with none, which follows from its ids. */
function ownTraceId(runId: string, requestId: string): string {
  const name = `trace ${runId} ${requestId}`;
  return `${hex64(name, 1)}${hex64(name, 2)}`;
}

/** The id of the span of a call, or of the request itself without a call. Every process makes the same one. */
export function spanIdOf(runId: string, requestId: string, callId: string = ""): string {
  return hex64(`span ${runId} ${requestId} ${callId}`, 3);
}

function isKept(text: string | undefined, most: number): text is string {
  return text !== undefined && text !== "" && text.length <= most;
}

/** The place of a request in traces. */
export interface RequestPlace {
  readonly traceId: string;
  readonly isSampled: boolean;
  /** The span that it is a part of; absent if it begins its trace. */
  readonly parent?: SpanPlace;
  /** The span that led to it, if its caller does not wait for it. */
  readonly link?: SpanPlace;
}

/** Finds the trace of a request: the one that it came with, otherwise its own. */
export function placeOfRequest(
  runId: string,
  requestId: string,
  trace: { readonly traceparent: string; readonly linked?: true | undefined } | undefined,
): RequestPlace {
  const given = trace && parseTraceparent(trace.traceparent);
  if (given !== undefined && trace?.linked !== true)
    return { traceId: given.traceId, isSampled: given.isSampled, parent: given };
  const own = { traceId: ownTraceId(runId, requestId), isSampled: given?.isSampled ?? true };
  return given === undefined ? own : { ...own, link: given };
}
