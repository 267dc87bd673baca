import * as z from "zod";
import { TRACEPARENT } from "../shared/trace-context.ts";
import type { Hops } from "./actors.ts";
import { ID_PATTERN, KEY_PATTERN, TIMESTAMP_PATTERN } from "./ids.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";

/**
 * A schema for each member of a type. With `satisfies Shape<Type>` after an object of schemas, the compiler rejects
 * members that are missing, unknown, of another type, or required although the type has them optional.
 */
export type Shape<Type> = {
  readonly [Key in keyof Type]-?: z.ZodType<Type[Key]> &
    (object extends Pick<Type, Key> ? MayBeAbsent : unknown);
};

type MayBeAbsent = { readonly _zod: { readonly optout: "optional" } };

/**
 * A field that may be absent. It does not use `exactOptional`, which runs its schema on each absent field
 * only to drop the issue; that was half of the cost of parsing a request.
 */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodExactOptional<z.ZodType<Value>> {
  // All values here come from JSON, so a present field is never `undefined`.
  return schema.optional() as unknown as z.ZodExactOptional<z.ZodType<Value>>;
}

const id = z.string().regex(ID_PATTERN, "must be 1 to 128 letters, digits, _ or -");

/** Checks a run id. */
export const runId: z.ZodType<RunId> = id;

/** Checks a request id. */
export const requestId: z.ZodType<RequestId> = id;

/** Checks an artifact id. */
export const artifactId: z.ZodType<ArtifactId> = id;

/** Any other id that a client chooses. */
export const clientId: z.ZodType<string> = id;

/** Checks a name that a client chooses for a run. */
export const key: z.ZodType<string> = z
  .string()
  .regex(KEY_PATTERN, "must be 1 to 128 letters, digits and signs of _ - . : @");

/** Checks the id of a call. */
export const callId: z.ZodType<CallId> = z.string().min(1);

/** Accepts any value: values parsed from JSON text are JSON. */
export const json: z.ZodType<Json> = z.unknown() as z.ZodType<Json>;

/** Any object, but no array. */
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);

/** A count, or a position in a sequence that starts at 0. */
export const count: z.ZodType<number> = z.int().min(0);

/** A position in a sequence that starts at 1. */
export const ordinal: z.ZodType<number> = z.int().min(1);

/** An ISO 8601 time in UTC. */
export const timestamp: z.ZodType<string> = z
  .string()
  .regex(TIMESTAMP_PATTERN, "must be a time in UTC, as in 2026-01-31T12:00:00.000Z")
  .meta({ format: "date-time" });

/** @internal The schema of a place in a trace. */
export const traceparent: z.ZodType<string> = z
  .string()
  .regex(TRACEPARENT, "must be a traceparent of W3C Trace Context, version 00");

/** @internal The schema of how many requests led to another one. */
export const hops: z.ZodType<Hops> = z.object({ n: count, since: timestamp } satisfies Shape<Hops>);
