import { AgentError } from "../../errors.ts";

/** Parses the address of a server or agent. */
export function parseAddress(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new AgentError("invalid_request", `${JSON.stringify(url)} is not an http URL`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new AgentError(
      "invalid_request",
      "a URL must not contain credentials; use the options token or headers",
    );
  }
  return parsed;
}
