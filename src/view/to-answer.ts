import { AgentError } from "../errors.ts";
import { isObject, parseJson } from "../protocol/json.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { notAnApprover } from "../runtime/agent/approvers.ts";
import { checkParsed } from "./check-parsed.ts";
import type { WaitView } from "./run-view.ts";

/**
 * What a human typed as the answer to a wait: for one key the value that its schema asks for, for several keys a JSON
 * object of them. `unprocessable` for another text and for JSON that the body of a request could not hold; whether the
 * values fit the schema is checked with the answer.
 */
export function toAnswer(wait: AskedQuestion, text: string): JsonObject {
  checkAnswerable(wait);
  const { questions, schema } = wait;
  const keys = Object.keys(questions);
  const parsed = parseJson(text);
  if (isObject(parsed) && keys.some((key) => Object.hasOwn(parsed, key)))
    return checkParsed(parsed, "the answer");
  const [only, ...others] = keys;
  if (only !== undefined && others.length === 0) return { [only]: toValue(text, typesOf(schema, only)) };
  throw new AgentError("unprocessable", `the question has the keys ${keys.join(", ")}`, {
    hint: "answer with a JSON object of these keys",
    issues: keys.map((path) => ({ path, message: "is missing" })),
  });
}

/** The parts of a question that decide how it is asked and answered. */
export type AskedQuestion = Pick<WaitView, "questions" | "schema"> &
  Partial<Pick<WaitView, "question" | "approvers" | "waitId" | "tool">>;

/** The key of a question that is answered by yes or no, apart from an optional reason. */
export function approvalKeyOf({ questions, schema }: AskedQuestion): string | undefined {
  const [key, ...others] = Object.keys(questions).filter((name) => name !== REASON);
  if (key === undefined || others.length > 0) return undefined;
  const types = typesOf(schema, key);
  return types.size === 1 && types.has("boolean") ? key : undefined;
}

/** The answer to a question that is answered by yes or no; undefined for any other question. */
export function toApproval(
  wait: AskedQuestion,
  approve: boolean,
  reason: string | undefined,
): JsonObject | undefined {
  const key = approvalKeyOf(wait);
  if (key === undefined) return undefined;
  const hasReason = reason !== undefined && takesReason(wait);
  return { [key]: approve, ...(hasReason && { [REASON]: reason }) };
}

function takesReason({ questions, schema }: AskedQuestion): boolean {
  const properties = schema?.["properties"];
  return Object.hasOwn(questions, REASON) || (isObject(properties) && Object.hasOwn(properties, REASON));
}

/** The name under which an approval can give its reason. */
const REASON = "reason";

/** Throws `not_an_approver` for a wait that its reader may not answer. */
export function checkAnswerable({ question, approvers = [], waitId = 0 }: Partial<AskedQuestion>): void {
  if (question !== undefined) throw notAnApprover(waitId, approvers);
}

/** The text that asks a human for the answer to a wait, or tells who may answer. */
export function toQuestion({
  questions,
  question: told,
  approvers = [],
}: Pick<AskedQuestion, "questions" | "question" | "approvers">): string {
  if (told !== undefined) return `${told}\n(only ${approvers.join(" or ")} may answer)`;
  const entries = Object.entries(questions);
  const [only, ...others] = entries;
  if (only !== undefined && others.length === 0) return only[1] === "" ? only[0] : only[1];
  return entries.map(([key, question]) => `${key}: ${question}`).join("\n");
}

function toValue(text: string, types: ReadonlySet<unknown>): Json {
  // A schema that takes a text takes it as it was typed.
  if (types.size === 0 || types.has("string")) return text;
  const word = text.trim().toLowerCase();
  if (types.has("boolean") && YES.has(word)) return true;
  if (types.has("boolean") && NO.has(word)) return false;
  const number = word === "" ? Number.NaN : Number(word);
  if ((types.has("number") || types.has("integer")) && Number.isFinite(number)) return number;
  const parsed = parseJson(text);
  if (types.has("array") && Array.isArray(parsed)) return checkParsed(parsed as Json, "the answer");
  if (types.has("object") && isObject(parsed)) return checkParsed(parsed, "the answer");
  return types.has("null") && word === "null" ? null : text;
}

const YES: ReadonlySet<string> = new Set(["yes", "y", "true"]);
const NO: ReadonlySet<string> = new Set(["no", "n", "false"]);

/** The JSON types that a schema allows for a key; empty if it does not say. */
function typesOf(schema: JsonObject | undefined, key: string): ReadonlySet<unknown> {
  const properties = schema?.["properties"];
  return new Set(isObject(properties) ? collectTypes(properties[key]) : []);
}

function collectTypes(schema: unknown): readonly unknown[] {
  if (!isObject(schema)) return [];
  const { type, anyOf, oneOf, enum: values, const: value } = schema;
  const parts = [...toList(anyOf), ...toList(oneOf)].flatMap(collectTypes);
  if (type !== undefined) return [...(Array.isArray(type) ? toList(type) : [type]), ...parts];
  const listed = value === undefined ? toList(values) : [value];
  return [...listed.map((one) => (one === null ? "null" : typeof one)), ...parts];
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
