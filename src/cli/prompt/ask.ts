import type { Json, JsonObject } from "../../protocol/json.ts";
import { loadPrompts } from "./prompts.ts";
import type { Prompts } from "./prompts.ts";
import { parseField, toChoice } from "./questions.ts";
import type { PromptField } from "./questions.ts";

/** Asks for values on the terminal, one after the other. Ctrl-C throws an Exit. An empty optional answer is left out. */
export async function askFields(fields: readonly PromptField[]): Promise<JsonObject> {
  const values: Record<string, Json> = {};
  if (fields.length === 0) return values;
  const prompts = await loadPrompts("no answer was given");
  for (const field of fields) {
    const value = await askField(prompts, field);
    if (value !== undefined) values[field.key] = value;
  }
  return values;
}

async function askField({ confirm, select, text }: Prompts, field: PromptField): Promise<Json | undefined> {
  const { kind, question: message, isRequired, initial } = field;
  if (kind.type === "boolean" && isRequired) return confirm({ message, initialValue: initial !== false });
  if (kind.type === "choice") {
    const options = kind.values.map((value) => ({ label: toChoice(value) }));
    const none = isRequired ? [] : [{ label: "(none)" }];
    return kind.values[await select({ message, options: [...options, ...none] })];
  }
  const validate = (typed: string): string | undefined => {
    if (typed === "") return isRequired && initial === undefined ? "A value is needed." : undefined;
    const parsed = parseField(field, typed);
    return "problem" in parsed ? parsed.problem : undefined;
  };
  const placeholder = initial === undefined ? (isRequired ? "" : "optional") : toChoice(initial);
  const typed = await text({ message, placeholder, validate });
  if (typed === "") return initial;
  const parsed = parseField(field, typed);
  return "value" in parsed ? parsed.value : undefined;
}
