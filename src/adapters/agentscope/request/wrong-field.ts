import { AgentError } from "../../../errors.ts";
import type { Issue } from "../../../protocol/schema/issue.ts";

/** The error for a body with wrong fields; its message names each of them. */
export function wrongFields(issues: readonly Issue[]): AgentError {
  const faults = issues.map(({ path, message }) => `${path === "" ? "the body" : path} ${message}`);
  return new AgentError("unprocessable", faults.join("; "), { issues });
}

/** The error for one wrong field. */
export function wrongField(path: string, message: string): AgentError {
  return wrongFields([{ path, message }]);
}
