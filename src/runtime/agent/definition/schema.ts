import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { AgentError, isInstance } from "../../../errors.ts";
import type { Environment } from "../../../ports/environment.ts";
import type { Issue } from "../../../protocol/schema/check-json.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Schema } from "../agent.ts";
import { errorMessage } from "../error-message.ts";

/**
 * Parses a value. Throws `unprocessable` with the issues if it does not fit or the schema's own code throws.
 */
export async function parseWith<Value>(schema: Schema<Value>, value: unknown, what: string): Promise<Value> {
  return parse(schema, value, what);
}

/** As `parseWith`, for a synchronous schema; throws a TypeError if it is asynchronous. */
export function parseNow<Value>(schema: Schema<Value>, value: unknown, what: string): Value {
  const parsed = parse(schema, value, what);
  if (!isPromise(parsed)) return parsed;
  parsed.catch(() => {});
  throw new TypeError(
    `the schema of ${what} is asynchronous; use one without async refinements or transforms`,
  );
}

/**
 * Checks a client's value in bounded time. Throws `unprocessable` like `parseWith`, and `timeout` if the
 * schema does not settle.
 */
export async function checkWith(
  environment: Environment,
  schema: Schema<unknown>,
  value: unknown,
  what: string,
): Promise<void> {
  const parsed = parse(schema, value, what);
  if (!isPromise(parsed)) return;
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const stopTimer = environment.timer(CHECK_MS, () =>
    reject(new AgentError("timeout", `the check of ${what} took more than ${CHECK_MS / 1_000} s`)),
  );
  try {
    await Promise.race([parsed, expired]);
  } finally {
    stopTimer();
  }
}

/** Converts the schema to JSON Schema, if its library supports that. */
export function toJsonSchema(schema: Schema<unknown>, side: "input" | "output"): JsonObject | undefined {
  const standard = schema["~standard"] as Partial<StandardJSONSchemaV1.Props>;
  if (standard.jsonSchema === undefined) return undefined;
  try {
    return standard.jsonSchema[side]({ target: "draft-2020-12" }) as JsonObject;
  } catch {
    // A schema can contain parts that JSON Schema cannot express, for example a transform.
    return undefined;
  }
}

/** The questions of an object schema: its keys, or its required keys, with their descriptions. */
export function toQuestions(
  schema: JsonObject | undefined,
  onlyRequired = false,
): { readonly [key: string]: string } {
  const { properties, required } = schema ?? {};
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return {};
  const keys = new Set(Array.isArray(required) ? required : []);
  const asked = Object.entries(properties as JsonObject).filter(([key]) => !onlyRequired || keys.has(key));
  return Object.fromEntries(asked.map(([key, property]) => [key, descriptionOf(property) ?? key]));
}

function descriptionOf(property: unknown): string | undefined {
  const description = (property as { readonly description?: unknown } | null)?.description;
  return typeof description === "string" ? description : undefined;
}

/** Maximum time for a schema to check a client's value. */
const CHECK_MS = 10_000;

function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  // A promise of another library or realm is not an instance of this realm's Promise.
  return typeof (value as { readonly then?: unknown } | undefined)?.then === "function";
}

function parse<Value>(schema: Schema<Value>, value: unknown, what: string): Value | Promise<Value> {
  try {
    // Most schemas are synchronous; an await would cost a microtask for nothing.
    const result = schema["~standard"].validate(value);
    return isPromise(result) ? settle(result, what) : toValue(result, what);
  } catch (thrown) {
    throw toRefusal(thrown, what);
  }
}

async function settle<Value>(result: Promise<StandardSchemaV1.Result<Value>>, what: string): Promise<Value> {
  try {
    return toValue(await result, what);
  } catch (thrown) {
    throw toRefusal(thrown, what);
  }
}

function toValue<Value>(result: StandardSchemaV1.Result<Value>, what: string): Value {
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(toIssue);
  const first = issues[0];
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `;
  const message = `${what} does not fit: ${where}${first?.message ?? "unknown issue"}`;
  throw new AgentError("unprocessable", message, { issues });
}

function toRefusal(thrown: unknown, what: string): AgentError {
  if (isInstance(thrown, AgentError)) return thrown;
  return new AgentError("unprocessable", `${what} does not fit: ${errorMessage(thrown)}`, { cause: thrown });
}

function toIssue({ message, path = [] }: StandardSchemaV1.Issue): Issue {
  const steps = path.map((step) => String(typeof step === "object" ? step.key : step));
  return { path: steps.join("."), message: toText(message) };
}

/** The string from user code, or the value converted to a string. */
function toText(value: unknown): string {
  return String(value);
}
