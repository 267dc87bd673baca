import { isObject, parseJson } from "../protocol/json.ts";
import type { Fields, Json, JsonObject } from "../protocol/json.ts";
import type { WaitView } from "./run-view.ts";
import { toQuestion } from "./to-answer.ts";

/** The question of a wait as a form, as several protocols have them: flat, with texts, numbers, yes or no, and choices. */
export interface WaitForm {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: "object";
    readonly properties: JsonObject;
    readonly required: readonly string[];
  };
}

/** Makes the form of a wait. */
export function toWaitForm(wait: WaitView): WaitForm {
  const keys = keysOf(wait);
  return {
    message: toQuestion(wait),
    requestedSchema: {
      type: "object",
      properties: Object.fromEntries(keys.map((key) => [key, toField(wait, key)])),
      required: [...requiredOf(wait)].filter((key) => keys.includes(key)),
    },
  };
}

/** What a person did with the form of a wait. */
export type FormAnswer =
  | { readonly action: "answer"; readonly values: JsonObject }
  /** The person does not want what was asked, and the question has no answer for that. */
  | { readonly action: "cancel" }
  /** The form was closed, or the client has not shown it. */
  | { readonly action: "none" };

/** Reads a form that was filled in. */
export function readFilledForm(wait: WaitView, content: Fields | null | undefined): FormAnswer {
  const given = Object.entries(content ?? {}) as [string, Json][];
  const values = given.map(([key, value]): [string, Json] => [
    key,
    isPrimitive(schemaOf(wait, key)) ? value : toJson(value),
  ]);
  return { action: "answer", values: Object.fromEntries(values) };
}

/** What a declined form says: one whose keys are all yes or no is answered with no. */
export function readDeclinedForm(wait: WaitView): FormAnswer {
  const asked = [...requiredOf(wait)];
  const isYesOrNo = asked.length > 0 && asked.every((key) => schemaOf(wait, key)["type"] === "boolean");
  return isYesOrNo
    ? { action: "answer", values: Object.fromEntries(asked.map((key) => [key, false])) }
    : { action: "cancel" };
}

/** The keys of a wait: those that are asked, and others that its schema has. */
function keysOf({ questions, schema }: WaitView): readonly string[] {
  const properties = isObject(schema?.["properties"]) ? schema["properties"] : {};
  return [...new Set([...Object.keys(questions), ...Object.keys(properties)])];
}

function requiredOf({ questions, schema }: WaitView): ReadonlySet<string> {
  const required = schema?.["required"];
  return new Set(schema === undefined ? Object.keys(questions) : ((required ?? []) as readonly string[]));
}

function schemaOf({ schema }: WaitView, key: string): Fields {
  const properties = schema?.["properties"];
  const own = isObject(properties) ? properties[key] : undefined;
  return isObject(own) ? own : { type: "string" };
}

/** The field of a form. Forms have texts, numbers, yes or no, and choices; anything else is typed as JSON. */
function toField(wait: WaitView, key: string): JsonObject {
  const schema = schemaOf(wait, key);
  const { [key]: question = "" } = wait.questions;
  const description = question === "" ? schema["description"] : question;
  const about = typeof description === "string" ? { description } : {};
  if (!isPrimitive(schema)) {
    const text = [about.description, "as JSON"].filter((part) => part !== undefined).join(", ");
    return { type: "string", description: text };
  }
  const fields = FIELDS.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]);
  const { format, ...field } = Object.fromEntries(fields) as { readonly format?: Json } & JsonObject;
  const hasFormat = typeof format === "string" && FORMATS.has(format);
  return { ...field, ...(hasFormat && { format }), ...about };
}

const FIELDS = ["type", "title", "enum", "minimum", "maximum", "minLength", "maxLength", "default", "format"];
const FORMATS: ReadonlySet<string> = new Set(["email", "uri", "date", "date-time"]);

function isPrimitive({ type, enum: values }: Fields): boolean {
  if (values !== undefined) return type === "string";
  return type === "string" || type === "number" || type === "integer" || type === "boolean";
}

/** A value that was typed as JSON. Whether it fits is checked with the answer. */
function toJson(value: Json): Json {
  return typeof value === "string" ? (parseJson(value) ?? value) : value;
}
