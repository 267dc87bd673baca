import type { Json } from "../protocol/json.ts";
import type { SpanPlace } from "../shared/trace-context.ts";

/** The value of an attribute. */
export type AttributeValue = string | number | boolean | readonly string[];

/** Attributes by their names. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A span as it follows from the log: plain data, and the same each time. */
export interface LogSpan extends SpanPlace {
  readonly name: string;
  /** The trace of its request goes on from that of others, with this state. */
  readonly parentSpanId?: string;
  /** The parent is a span of another process, which has sent the request. */
  readonly isParentRemote?: true;
  readonly kind: SpanRole;
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanPlace[];
  /** The text of the error, if it failed. */
  readonly error?: string;
}

/** What a span is to others, as OpenTelemetry names it. */
export type SpanRole = "internal" | "client" | "producer";

/** A moment of a span. */
export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Attributes;
}

/** What was said in a span: what an agent was asked and has answered, a model has answered, a tool was given and has returned. */
export interface SpanContent {
  readonly kind: "input" | "output" | "arguments" | "result";
  /** The agent, tool or model. */
  readonly name: string;
  readonly value: Json;
}

/**
 * What spans say of that: nothing, all of it, or what a function returns, which may take out what is confidential; `undefined` for
 * nothing.
 */
export type ContentOption = "none" | "all" | ((content: SpanContent) => Json | undefined);
