import { AgentError } from "../../errors.ts";
import type { Issue } from "../../protocol/schema/check-json.ts";

/** The error for a request with wrong fields; its message names each of them. */
export function unprocessable(issues: readonly Issue[]): AgentError {
  const faults = issues.map(({ path, message }) => `${path === "" ? "the body" : path} ${message}`);
  return new AgentError("unprocessable", faults.join("; "), { issues });
}

/** The error for one wrong field. */
export function wrongField(path: string, message: string): AgentError {
  return unprocessable([{ path, message }]);
}
