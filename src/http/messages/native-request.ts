import { AgentError } from "../../errors.ts";
import { parseRequest } from "../../protocol/requests/parse.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import { unprocessable } from "./wrong-field.ts";

/** Checks a request that a wire has made of its own, by the rules and limits of the native protocol. */
export function checkNative(request: Request): Request {
  const parsed = parseRequest(request);
  if (parsed.ok) return parsed.value.request;
  const { kind, message, issues } = parsed;
  if (kind === "too_large") throw new AgentError("too_large", message, { issues });
  throw unprocessable(issues);
}
