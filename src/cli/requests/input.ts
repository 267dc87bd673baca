import { readFileSync } from "node:fs";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { closest } from "../closest.ts";
import { EXIT, Exit } from "../exit.ts";
import { parseField, toPromptFields } from "../prompt/questions.ts";
import type { PromptField } from "../prompt/questions.ts";

/**
 * Reads the input of an operation from the words behind it: JSON, `@file`, `-` for standard input, or one option per
 * field of the schema (`--to bob --amount 3`, `--amount=3`, `--no-dry-run`).
 */
export function readInput(operation: OperationDescriptor, words: readonly string[]): Json | undefined {
  const [first, ...rest] = words;
  if (first === undefined) return undefined;
  if (first.startsWith("--")) return readOptions(operation, words);
  if (rest.length > 0) {
    throw usage(`one input is expected, but there is also ${rest[0]}`, 'quote the JSON: \'{"to":"bob"}\'');
  }
  const text =
    first === "-" ? readText(0, "standard input") : first.startsWith("@") ? readFile(first.slice(1)) : first;
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    const required = toPromptFields(operation.input_schema).filter(({ isRequired }) => isRequired);
    const options = required.map(({ key }) => ` --${key} …`).join("");
    const hint = "give JSON, @FILE, - for standard input, or the fields as options";
    throw usage(`the input is not JSON: ${(thrown as Error).message}`, `${hint}${options && `:${options}`}`);
  }
}

/** Reads a value that was given as JSON, or as `@file`; `undefined` if none was given. */
export function parseGivenJson(text: string | undefined, what: string): Json | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text.startsWith("@") ? readFile(text.slice(1)) : text) as Json;
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    throw usage(`${what} is no JSON: ${thrown.message}`, `for example '{"amount": 1}', or @FILE`);
  }
}

function readOptions(
  { name, input_schema: schema }: OperationDescriptor,
  words: readonly string[],
): JsonObject {
  const fields = new Map(toPromptFields(schema).map((field) => [field.key, field]));
  const values: Record<string, Json> = {};
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, no, key = "", , inline] = /^--(no-)?([^=]+)(=(.*))?$/s.exec(word) ?? [];
    const isNegated = no !== undefined && !fields.has(`no-${key}`);
    const field = fields.get(isNegated ? key : `${no ?? ""}${key}`);
    if (field === undefined) {
      const near = closest(key, [...fields.keys()]);
      const known = [...fields.keys()].map((field) => `--${field}`).join(", ");
      throw usage(
        `${name} has no field for ${word}`,
        near === undefined ? `its fields: ${known}` : `did you mean --${near}?`,
      );
    }
    const isBoolean = field.kind.type === "boolean";
    const isNext = inline === undefined && !isNegated && (!isBoolean || parsesAsBoolean(left[0]));
    const text = inline ?? (isNegated ? "false" : isNext ? left.shift() : "true");
    if (text === undefined) throw usage(`--${field.key} needs a value`);
    const parsed = parseField(field, text);
    if ("problem" in parsed) throw usage(`--${field.key} ${text}: ${parsed.problem}`);
    values[field.key] = parsed.value;
  }
  return values;
}

function parsesAsBoolean(word: string | undefined): boolean {
  return word !== undefined && "value" in parseField({ kind: { type: "boolean" } }, word);
}

/** The fields of the schema that an input lacks; none for an input that is not an object. */
export function missingFields(
  { input_schema: schema }: OperationDescriptor,
  input: Json | undefined,
): readonly PromptField[] {
  if (input !== undefined && !isObject(input)) return [];
  const fields = toPromptFields(schema).filter(
    ({ key, isRequired }) => isRequired && input?.[key] === undefined,
  );
  return fields.filter(({ initial }) => initial === undefined);
}

function readFile(path: string): string {
  return readText(path, path);
}

function readText(source: string | number, name: string): string {
  try {
    return readFileSync(source, "utf8");
  } catch (thrown) {
    throw usage(`${name} cannot be read: ${(thrown as NodeJS.ErrnoException).code}`);
  }
}

function usage(message: string, hint?: string): Exit {
  return new Exit(EXIT.usage, message, hint);
}
