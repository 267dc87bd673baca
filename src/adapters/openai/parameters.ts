import * as z from "zod";
import { unprocessable, wrongField } from "../../http/messages/wrong-field.ts";
import type { Runtime } from "../../runtime/api.ts";
import { canonical, isObject } from "../../protocol/json.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import { describeIssue, toIssues } from "../../protocol/schema/schema-issues.ts";
import type { ModelRef } from "./models.ts";
import { unsupported } from "./refusal.ts";

/**
 * Reads the fields of a body that the server itself needs; null counts as absent. `others` are its other fields, which the agent
 * gets as they are.
 */
export function readParameters<Shape extends z.ZodRawShape>(
  body: unknown,
  shape: Shape,
): { readonly known: z.infer<z.ZodObject<Shape>>; readonly others: JsonObject } {
  if (!isObject(body)) throw wrongField("", "must be a JSON object");
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const parsed = z
    .object(shape)
    .safeParse(Object.fromEntries(given.filter(([name]) => Object.hasOwn(shape, name))), {
      error: describeIssue,
    });
  if (!parsed.success) throw unprocessable(toIssues(parsed.error));
  const others = given.filter(([name]) => !Object.hasOwn(shape, name));
  return { known: parsed.data, others: Object.fromEntries(others) as JsonObject };
}

/** Refuses parameters that would change the answer in a way in which no agent can be told to. */
export function checkSupported(others: Fields): void {
  for (const [name, { allows, why }] of Object.entries(UNSUPPORTED)) {
    if (Object.hasOwn(others, name) && !allows(others[name])) throw unsupported(name, why);
  }
}

/** Refuses a format of the answer unless it is text, or the schema that the output of the operation has. */
export function checkFormat(
  runtime: Runtime,
  model: ModelRef,
  { format, parameter }: { readonly format: unknown; readonly parameter: string },
): void {
  if (format === undefined) return;
  const { type, schema: own, json_schema: nested } = isObject(format) ? format : {};
  if (type === "text") return;
  const schema: unknown = isObject(nested) ? nested["schema"] : own;
  const { output_schema: output } =
    runtime.describe(model.agent).operations.find(({ name }) => name === model.operation) ?? {};
  if (type === "json_schema" && output !== undefined && canonical(bare(schema)) === canonical(bare(output)))
    return;
  const has = output === undefined ? "a text" : "the schema of the operation's output";
  throw unsupported(parameter, `the answer of this model has ${has}`);
}

/** A schema without the words that say nothing about values. */
function bare(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { $schema: _version, ...rest } = schema;
  return rest;
}

interface Unsupported {
  readonly allows: (value: unknown) => boolean;
  readonly why: string;
}

const never = (): boolean => false;
const off = (value: unknown): boolean => value === false || value === 0;

const UNSUPPORTED: Readonly<Record<string, Unsupported>> = {
  n: { allows: (value) => value === 1, why: "a request has one answer" },
  logprobs: { allows: off, why: "agents have no probabilities" },
  top_logprobs: { allows: off, why: "agents have no probabilities" },
  audio: { allows: never, why: "answers are texts" },
  modalities: {
    allows: (value) => Array.isArray(value) && value.every((one) => one === "text"),
    why: "answers are texts",
  },
  functions: { allows: never, why: "use tools" },
  function_call: { allows: never, why: "use tools" },
  web_search_options: { allows: never, why: "an agent has the tools that its code gives it" },
  prompt: { allows: never, why: "the server stores no prompts" },
};
