import { unprocessable } from "../../../http/messages/wrong-field.ts";
import { isObject } from "../../../protocol/json.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { checkJson } from "../../../protocol/schema/check-json.ts";
import type { Issue } from "../../../protocol/schema/check-json.ts";

/** The body of a new task or of a step. */
export interface Input {
  readonly input: string | undefined;
  readonly additionalInput: JsonObject;
}

/** Parses an optional body; `unprocessable` names every wrong field. */
export function parseInput(body: unknown): Input {
  if (body === undefined) return { input: undefined, additionalInput: {} };
  if (!isObject(body)) throw unprocessable([{ path: "", message: "must be an object" }]);
  const unsafe = checkJson(body);
  if (unsafe.length > 0) throw unprocessable(unsafe.map(({ path, message }) => ({ path, message })));
  const { input, additional_input: additional } = body;
  const issues: Issue[] = [];
  if (input !== undefined && input !== null && typeof input !== "string")
    issues.push({ path: "input", message: "must be a text" });
  if (additional !== undefined && additional !== null && !isObject(additional))
    issues.push({ path: "additional_input", message: "must be an object" });
  if (issues.length > 0) throw unprocessable(issues);
  return {
    input: typeof input === "string" ? input : undefined,
    additionalInput: isObject(additional) ? (additional as JsonObject) : {},
  };
}
