import { AgentError } from "../../errors.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { hasSecret, isSecretName } from "./secret-names.ts";

/** A configuration with references in place of secret values, and the values by reference name. */
export interface WithoutSecrets {
  readonly args: JsonObject;
  readonly secrets: Readonly<Record<string, string>>;
}

/** The key of a reference, which the log contains instead of the secret value. */
const REFERENCE = "$secret";

/**
 * Replaces the secret values of a configuration by references. Their names start with `version`, which
 * contains no dots.
 */
export function withoutSecrets(args: JsonObject, version: string): WithoutSecrets {
  const secrets: Record<string, string> = {};
  const hide = (value: Json, path: string, secret: boolean): Json => {
    if ((secret && value !== null && typeof value !== "object") || hasSecret(value)) {
      secrets[path] = JSON.stringify(value);
      return { [REFERENCE]: path };
    }
    if (Array.isArray(value)) return value.map((item: Json, index) => hide(item, `${path}.${index}`, secret));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value as JsonObject);
    // Only the runtime writes references; one from outside could name another configuration's secret.
    if (Object.hasOwn(value, REFERENCE)) {
      throw new AgentError("unprocessable", `a configuration cannot have the key ${REFERENCE}`);
    }
    return Object.fromEntries(
      entries.map(([key, field]) => [
        key,
        hide(field, `${path}.${toStep(key)}`, secret || isSecretName(key)),
      ]),
    );
  };
  return { args: hide(args, version, false) as JsonObject, secrets };
}

/** The names of the secrets that a configuration refers to. */
export function secretNamesIn(args: Json): readonly string[] {
  const names = new Set<string>();
  const visit = (value: Json): void => {
    if (typeof value !== "object" || value === null) return;
    const name = (value as JsonObject)[REFERENCE];
    if (typeof name === "string") names.add(name);
    for (const field of Object.values(value)) visit(field);
  };
  visit(args);
  return [...names];
}

/** A key without dots, because dots separate the steps of a path. */
function toStep(key: string): string {
  return key.replaceAll("~", "~0").replaceAll(".", "~1");
}

/** Replaces the references by the secret values; a value that is not stored is omitted. */
export function withSecrets(args: JsonObject, valueOf: (name: string) => string | undefined): JsonObject {
  const show = (value: Json): Json | undefined => {
    if (Array.isArray(value)) return value.map((item: Json) => show(item) ?? null);
    if (typeof value !== "object" || value === null) return value;
    const name = (value as JsonObject)[REFERENCE];
    if (typeof name === "string") {
      const text = valueOf(name);
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    }
    const shown = Object.entries(value as JsonObject).map(([key, field]) => [key, show(field)] as const);
    return Object.fromEntries(
      shown.filter((entry): entry is readonly [string, Json] => entry[1] !== undefined),
    );
  };
  return show(args) as JsonObject;
}
