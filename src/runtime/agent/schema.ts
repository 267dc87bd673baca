import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { AgentError } from "../../errors.ts";
import type { Issue } from "../../protocol/issue.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Schema } from "./agent.ts";

/** The value as the schema understands it; throws `unprocessable`, with the issues, when it does not fit. */
export async function parseWith<Value>(schema: Schema<Value>, value: unknown, what: string): Promise<Value> {
  const validated = schema["~standard"].validate(value);
  // Most schemas answer at once; an await would cost a turn of the microtask queue for nothing.
  const result = validated instanceof Promise ? await validated : validated;
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(toIssue);
  const first = issues[0];
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `;
  throw new AgentError(
    "unprocessable",
    `${what} does not fit: ${where}${first?.message ?? "unknown issue"}`,
    { issues },
  );
}

/** The schema as JSON Schema, where its library can say it. */
export function toJsonSchema(schema: Schema<unknown>, side: "input" | "output"): JsonObject | undefined {
  const standard = schema["~standard"] as Partial<StandardJSONSchemaV1.Props>;
  if (standard.jsonSchema === undefined) return undefined;
  try {
    return standard.jsonSchema[side]({ target: "draft-2020-12" }) as JsonObject;
  } catch {
    // A schema may hold what JSON Schema cannot say, such as a transformation.
    return undefined;
  }
}

/** The questions that a schema of an object asks: its keys with their descriptions. */
export function toQuestions(schema: JsonObject | undefined): { readonly [key: string]: string } {
  const properties = schema?.["properties"];
  if (typeof properties !== "object" || properties === null || Array.isArray(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties as JsonObject).map(([key, property]) => [key, descriptionOf(property) ?? key]),
  );
}

function descriptionOf(property: unknown): string | undefined {
  const description = (property as { readonly description?: unknown } | null)?.description;
  return typeof description === "string" ? description : undefined;
}

function toIssue({ message, path = [] }: StandardSchemaV1.Issue): Issue {
  const steps = path.map((step) => String(typeof step === "object" ? step.key : step));
  return { path: steps.join("."), message };
}
