import { checkJson } from "../../../protocol/schema/check-json.ts";
import { isObject, parseObject } from "../../../protocol/json.ts";
import type { JsonObject } from "../../../protocol/json.ts";

/** What the description of a tool says about its arguments: a JSON Schema, or only a text for people. */
export type ToolArguments = { readonly schema: JsonObject } | { readonly text: string };

/**
 * Reads the `arguments` of a tool's description. Peers write a JSON Schema, a JSON object of types by name, or the
 * same as a Python dictionary (`{'a': "<class 'int'>"}`); anything else is a text.
 */
export function readToolArguments(text: string): ToolArguments {
  const value = parseObject(text) ?? parsePythonDictionary(text);
  if (value === undefined || checkJson(value).length > 0) return { text };
  return { schema: isSchema(value) ? value : toSchema(value) };
}

/** Reads a flat Python dictionary of texts. */
function parsePythonDictionary(text: string): JsonObject | undefined {
  if (text.length > LONGEST) return undefined;
  const [, inner] = /^\s*\{(.*)\}\s*$/s.exec(text) ?? [];
  if (inner === undefined) return undefined;
  const entries: [string, string][] = [];
  let rest = inner.trim();
  while (rest !== "") {
    const [pair, key, value] = ENTRY.exec(rest) ?? [];
    if (pair === undefined || key === undefined || value === undefined) return undefined;
    entries.push([unquote(key), unquote(value)]);
    rest = rest.slice(pair.length);
  }
  return Object.fromEntries(entries);
}

const LONGEST = 65_536;
const QUOTED = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`;
const ENTRY = new RegExp(String.raw`^(${QUOTED})\s*:\s*(${QUOTED})\s*(?:,\s*|$)`, "s");

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/gs, "$1");
}

function isSchema(value: JsonObject): boolean {
  return value["type"] === "object" || isObject(value["properties"]) || "$schema" in value || "$ref" in value;
}

/** The JSON Schema for an object of type names by argument name. */
function toSchema(types: JsonObject): JsonObject {
  const properties = Object.entries(types).map(([name, type]): [string, JsonObject] => [name, toType(type)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
  };
}

function toType(type: unknown): JsonObject {
  const name = typeof type === "string" ? (/^<class '(.*)'>$/.exec(type)?.[1] ?? type) : "";
  const known = TYPES.get(name);
  return known === undefined ? (name === "" ? {} : { description: name }) : { type: known };
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["str", "string"],
  ["string", "string"],
  ["int", "integer"],
  ["integer", "integer"],
  ["float", "number"],
  ["number", "number"],
  ["bool", "boolean"],
  ["boolean", "boolean"],
  ["list", "array"],
  ["array", "array"],
  ["dict", "object"],
  ["object", "object"],
]);
