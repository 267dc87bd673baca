import * as z from "zod";
import { TURN_ERROR_CODES } from "./events.ts";
import type { FinishReason, Questions, TurnError } from "./events.ts";
import { ID_PATTERN } from "./ids.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";

/**
 * A schema for each member of a type. Written behind an object of schemas as `satisfies Shape<Type>`, it
 * makes the compiler refuse a member that is missing, unknown or of another type.
 */
export type Shape<Type> = { readonly [Key in keyof Type]-?: z.ZodType<Type[Key]> };

/** A schema of a closed list of words, none of them missing and none too many. */
export function oneOf<Word extends string>(words: { readonly [Key in Word]: true }): z.ZodType<Word> {
  return z.enum(Object.keys(words) as Word[]);
}

/**
 * A field that may be left out. It is not `exactOptional`, which tries its schema on each field that is absent,
 * only to drop the issue: half of what it cost to parse a request.
 */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodExactOptional<z.ZodType<Value>> {
  // Where a value comes from JSON, as all that is parsed here, a field that is there is never `undefined`.
  return schema.optional() as unknown as z.ZodExactOptional<z.ZodType<Value>>;
}

const id = z.string().regex(ID_PATTERN, "must be 1 to 128 letters, digits, _ or -");

/** Checks a run id. */
export const runId: z.ZodType<RunId> = id;

/** Checks a request id. */
export const requestId: z.ZodType<RequestId> = id;

/** Checks an artifact id. */
export const artifactId: z.ZodType<ArtifactId> = id;

/** Checks any other id that a client chooses. */
export const clientId: z.ZodType<string> = id;

/** Checks the id of a call. */
export const callId: z.ZodType<CallId> = z.string().min(1);

/** Takes any value that is there: what comes from JSON text is JSON. */
export const json: z.ZodType<Json> = z.unknown() as z.ZodType<Json>;

/** Takes any object, but no array. */
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);

/** Checks a number of things, or a place in a sequence that starts with 0. */
export const count: z.ZodType<number> = z.int().min(0);

/** Checks a place in a sequence that starts with 1. */
export const ordinal: z.ZodType<number> = z.int().min(1);

/** Checks a time: ISO 8601 in UTC. */
export const timestamp: z.ZodType<string> = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, "must be a time in UTC, as in 2026-01-31T12:00:00.000Z")
  .meta({ format: "date-time" });

/** Checks the questions of a wait. */
export const questions: z.ZodType<Questions> = z.record(z.string(), z.string());

/** Checks how a turn ended. */
export const finishReason: z.ZodType<FinishReason> = oneOf<FinishReason>({
  success: true,
  error: true,
  canceled: true,
});

/** Checks why a turn ended with an error. */
export const turnError: z.ZodType<TurnError> = z.object({
  code: z.enum(TURN_ERROR_CODES),
  message: z.string(),
} satisfies Shape<TurnError>);
