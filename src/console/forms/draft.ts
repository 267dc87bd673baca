import { isObject, canonical, parseJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { resolve, toShape } from "./shape.ts";

/**
 * What a person has typed into a form so far, by kind of field: the text of a text, number or JSON field, `undefined`
 * for a field that is not filled.
 */
export type Draft =
  | undefined
  | string
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "choice"; readonly at: number }
  | { readonly kind: "object"; readonly fields: { readonly [key: string]: Draft } }
  | { readonly kind: "list"; readonly items: readonly Draft[] }
  | { readonly kind: "variant"; readonly at: number; readonly draft: Draft };

/** A fault in a form, at the path of its field: keys and numbers joined by dots. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** What a form says: a value, or nothing; with the faults of its fields. */
export interface FormValue {
  /** Absent if the field is not filled. */
  readonly value?: Json;
  readonly faults: readonly Fault[];
}

/** The draft of an empty form: the defaults of the schema. */
export function emptyDraft(schema: unknown, root: unknown): Draft {
  const { default: value } = resolve(schema, root) ?? {};
  if (value !== undefined) return toDraft(schema, root, value as Json);
  const shape = toShape(schema, root);
  switch (shape.kind) {
    case "object":
      return {
        kind: "object",
        fields: Object.fromEntries(
          shape.fields.map(({ key, schema: inner, isRequired }) => [
            key,
            // An optional part that refers to itself would have no end.
            isRequired || hasDefault(inner, root) ? emptyDraft(inner, root) : undefined,
          ]),
        ),
      };
    case "list":
      return { kind: "list", items: [] };
    case "choice":
      return shape.options.length === 1 ? { kind: "choice", at: 0 } : undefined;
    default:
      return undefined;
  }
}

/** The draft that says a value. */
export function toDraft(schema: unknown, root: unknown, value: Json | undefined): Draft {
  if (value === undefined) return emptyDraft(schema, root);
  const shape = toShape(schema, root);
  switch (shape.kind) {
    case "text":
      return typeof value === "string" ? value : JSON.stringify(value);
    case "number":
      return JSON.stringify(value);
    case "boolean":
      return typeof value === "boolean" ? { kind: "boolean", value } : undefined;
    case "choice": {
      const at = shape.options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value));
      return at === -1 ? undefined : { kind: "choice", at };
    }
    case "object": {
      if (!isObject(value)) return undefined;
      const given = value as { readonly [key: string]: Json | undefined };
      const fields = shape.fields.map(({ key, schema: inner }) => {
        const has = Object.hasOwn(given, key);
        return [key, has ? toDraft(inner, root, given[key]) : undefined] as const;
      });
      return { kind: "object", fields: Object.fromEntries(fields) };
    }
    case "list":
      if (!Array.isArray(value)) return { kind: "list", items: [] };
      return {
        kind: "list",
        items: (value as readonly Json[]).map((item) => toDraft(shape.item, root, item)),
      };
    case "variants": {
      const drafts = shape.options.flatMap((option, at) =>
        fits(toShape(option.schema, root).kind, value)
          ? [{ kind: "variant" as const, at, draft: toDraft(option.schema, root, value) }]
          : [],
      );
      // Of several variants of a kind, the one whose fields say the value again.
      const saysSame = (draft: Draft): boolean =>
        canonical(readDraft(schema, root, draft).value) === canonical(value);
      return drafts.find(saysSame) ?? drafts[0];
    }
    case "any":
      return typeof value === "string" && value !== "" && typeof readAny(value) === "string"
        ? value
        : JSON.stringify(value);
    case "json":
      return JSON.stringify(value, null, 2);
    case "null":
      return undefined;
    default: {
      const never: never = shape;
      return never;
    }
  }
}

/** Reads a form. A field that is not filled has no value; a required one is then a fault. */
export function readDraft(
  schema: unknown,
  root: unknown,
  draft: Draft,
  path: string = "",
  isRequired = true,
): FormValue {
  const shape = toShape(schema, root);
  const missing: FormValue = { faults: isRequired ? [{ path, message: "is required" }] : [] };
  const wrong = (message: string): FormValue => ({ faults: [{ path, message }] });
  const at = (key: string | number): string => (path === "" ? String(key) : `${path}.${key}`);

  switch (shape.kind) {
    case "text":
      if (typeof draft !== "string" || (draft === "" && !isRequired)) return missing;
      return { value: draft, faults: [] };
    case "number": {
      const text = typeof draft === "string" ? draft.trim() : "";
      if (text === "") return missing;
      const value = Number(text);
      if (!Number.isFinite(value)) return wrong("is not a number");
      if (shape.isWhole && !Number.isSafeInteger(value))
        return wrong(Number.isInteger(value) ? "is too long" : "is not a whole number");
      return { value, faults: [] };
    }
    case "boolean":
      return isKind(draft, "boolean") ? { value: draft.value, faults: [] } : missing;
    case "choice": {
      const value = isKind(draft, "choice") ? shape.options[draft.at] : undefined;
      return value === undefined ? missing : { value, faults: [] };
    }
    case "object": {
      if (!isKind(draft, "object")) return missing;
      const read = shape.fields.map((field) => ({
        key: field.key,
        ...readDraft(field.schema, root, draft.fields[field.key], at(field.key), field.isRequired),
      }));
      const given = read.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value] as const]));
      const faults = read.flatMap((one) => one.faults);
      if (given.length === 0 && !isRequired) return { faults };
      return { value: Object.fromEntries(given), faults };
    }
    case "list": {
      const items = isKind(draft, "list") ? draft.items : [];
      if (items.length === 0 && !isRequired) return { faults: [] };
      const read = items.map((item, index) => readDraft(shape.item, root, item, at(index)));
      const values = read.map(({ value }) => value ?? null);
      return { value: values, faults: read.flatMap((one) => one.faults) };
    }
    case "variants": {
      const option = isKind(draft, "variant") ? shape.options[draft.at] : undefined;
      if (option === undefined || !isKind(draft, "variant")) return missing;
      return readDraft(option.schema, root, draft.draft, path);
    }
    case "null":
      return { value: null, faults: [] };
    case "any": {
      if (typeof draft !== "string" || draft === "") return missing;
      return { value: readAny(draft), faults: [] };
    }
    case "json": {
      if (typeof draft !== "string" || draft.trim() === "") return missing;
      const parsed = parseJson(draft);
      return parsed === undefined ? wrong("is not JSON") : { value: parsed, faults: [] };
    }
    default: {
      const never: never = shape;
      return never;
    }
  }
}

/** A text as JSON, or else as it is; also a number that JSON would change, for example a long account number. */
function readAny(text: string): Json {
  const parsed = parseJson(text);
  const isChanged = typeof parsed === "number" && Math.abs(parsed) > Number.MAX_SAFE_INTEGER;
  return parsed === undefined || isChanged ? text : parsed;
}

/** Whether a draft is of a kind. */
export function isKind<Kind extends string>(
  draft: Draft,
  kind: Kind,
): draft is Extract<Draft, { readonly kind: Kind }> {
  // A list that was kept as JSON has null for what is not filled.
  return typeof draft === "object" && (draft as typeof draft | null)?.kind === kind;
}

function hasDefault(schema: unknown, root: unknown): boolean {
  return resolve(schema, root)?.["default"] !== undefined;
}

function fits(kind: string, value: Json): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "null":
      return value === null;
    default:
      return true;
  }
}
