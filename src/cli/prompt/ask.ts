import { EXIT, Exit } from "../exit.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { toLine } from "../print/text.ts";
import { parseField, toChoice } from "./questions.ts";
import type { Field } from "./questions.ts";

/** Whether there is a terminal to ask on. The questions are written to stderr. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks for values on the terminal, one after the other. Ctrl-C throws an Exit. An empty optional answer is left out. */
export async function askFields(fields: readonly Field[], signal?: AbortSignal): Promise<JsonObject> {
  const values: Record<string, Json> = {};
  for (const field of fields) {
    const value = await askField(field, signal);
    if (value !== undefined) values[field.key] = value;
  }
  return values;
}

async function askField(field: Field, signal: AbortSignal | undefined): Promise<Json | undefined> {
  // Loaded only here: a command that asks nothing does not pay for it.
  const { confirm, isCancel, select, text } = await import("../vendor/clack.ts");
  const { kind, isRequired, initial } = field;
  const common = { message: toLine(field.question), output: process.stderr, ...(signal && { signal }) };
  const toAnswer = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new Exit(EXIT.interrupted, "no answer was given");
    return answer as Exclude<T, symbol>;
  };
  if (kind.type === "boolean" && isRequired) {
    return toAnswer(await confirm({ ...common, initialValue: initial !== false }));
  }
  if (kind.type === "choice") {
    const options = kind.values.map((value) => ({ value: toChoice(value), label: toLine(toChoice(value)) }));
    const none = isRequired ? [] : [{ value: NONE, label: "(none)" }];
    const chosen = toAnswer(await select({ ...common, options: [...options, ...none] }));
    return kind.values.find((value) => toChoice(value) === chosen);
  }
  const validate = (typed = ""): string | undefined => {
    if (typed === "") return isRequired && initial === undefined ? "A value is needed." : undefined;
    const parsed = parseField(field, typed);
    return "problem" in parsed ? parsed.problem : undefined;
  };
  const placeholder = initial === undefined ? (isRequired ? "" : "optional") : toChoice(initial);
  const typed = toAnswer(await text({ ...common, placeholder, validate })) ?? "";
  if (typed === "") return initial;
  const parsed = parseField(field, typed);
  return "value" in parsed ? parsed.value : undefined;
}

/** Stands for no choice; no value of a schema is typed so. */
const NONE = "\0";
