import { AgentError } from "../../../errors.ts";
import { isObject } from "../../../protocol/json.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { checkJson } from "../../../protocol/schema/check-json.ts";
import type { Issue } from "../../../protocol/schema/issue.ts";

/** The body of a new task or of a step. */
export interface Input {
  readonly input: string | undefined;
  readonly additionalInput: JsonObject;
}

/** Parses an optional body; `unprocessable` names every wrong field. */
export function parseInput(body: unknown): Input {
  if (body === undefined) return { input: undefined, additionalInput: {} };
  if (!isObject(body)) throw wrongFields([{ path: "", message: "must be an object" }]);
  const unsafe = checkJson(body);
  if (unsafe.length > 0) throw wrongFields(unsafe.map(({ path, message }) => ({ path, message })));
  const { input, additional_input: additional } = body;
  const issues: Issue[] = [];
  if (input !== undefined && input !== null && typeof input !== "string")
    issues.push({ path: "input", message: "must be a text" });
  if (additional !== undefined && additional !== null && !isObject(additional))
    issues.push({ path: "additional_input", message: "must be an object" });
  if (issues.length > 0) throw wrongFields(issues);
  return {
    input: typeof input === "string" ? input : undefined,
    additionalInput: isObject(additional) ? (additional as JsonObject) : {},
  };
}

/** The error for a request with wrong fields; its message names each of them. */
export function wrongFields(issues: readonly Issue[]): AgentError {
  const faults = issues.map(({ path, message }) => `${path === "" ? "the body" : path} ${message}`);
  return new AgentError("unprocessable", faults.join("; "), { issues });
}
