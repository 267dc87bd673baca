import { AgentError } from "../errors.ts";
import { checkJson } from "../protocol/schema/check-json.ts";

/**
 * Returns a value that was parsed from a text in a request. Throws `unprocessable` if the body of a request could not
 * hold the value: the check of the body sees only the text.
 */
export function checkParsed<Value>(value: Value, what: string): Value {
  const unsafe = checkJson(value);
  if (unsafe.length === 0) return value;
  const issues = unsafe.map(({ path, message }) => ({ path, message }));
  throw new AgentError("unprocessable", `${what} cannot be stored`, { issues });
}
