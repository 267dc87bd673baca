import type { Json, JsonObject } from "../../protocol/json.ts";
import { hasSecret, isSecretName } from "./secret-names.ts";

/** What is shown in place of a secret. */
const HIDDEN = "[secret]";

/** A value with `[secret]` in place of each text that has the name of a secret, or contains one. */
export function hideSecrets(value: Json, isSecret: boolean = false): Json {
  if (typeof value === "string") return isSecret || hasSecret(value) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map((item: Json) => hideSecrets(item, isSecret));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(
    entries.map(([key, field]) => [key, hideSecrets(field, isSecret || isSecretName(key))]),
  );
}

/** The secret texts in a configuration with its secret values. */
export function secretTexts(config: Json): readonly string[] {
  const texts = new Set<string>();
  const visit = (value: Json, isSecret: boolean): void => {
    if (typeof value === "object" && value !== null) {
      for (const [key, field] of Object.entries(value)) visit(field, isSecret || isSecretName(key));
    } else if (value !== null && (isSecret || hasSecret(value))) {
      const text = String(value);
      if (text.length >= (typeof value === "string" ? SHORTEST : SHORTEST_NUMBER)) texts.add(text);
    }
  };
  visit(config, false);
  // A text that contains another one is replaced first.
  return [...texts].sort((a, b) => b.length - a.length);
}

/** A shorter text is in too many others to be found in them, as is a shorter number: `max_tokens` is no secret. */
const SHORTEST = 4;
const SHORTEST_NUMBER = 6;

/** A text, or the JSON of a value, with `[secret]` in place of each of the secret texts. */
export function withoutTexts(json: string, texts: readonly string[]): string {
  let hidden = json;
  for (const text of texts) hidden = hidden.replaceAll(JSON.stringify(text).slice(1, -1), HIDDEN);
  return hidden;
}
