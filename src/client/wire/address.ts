import { AgentError } from "../../errors.ts";

/** Query parameters by name. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Parses the address of a server or agent; without query and fragment. */
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
  parsed.search = "";
  parsed.hash = "";
  return parsed;
}

/** A URL with more query parameters; those that are undefined are left out. */
export function withQuery(url: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  if (parameters.size === 0) return url;
  return `${url}${url.includes("?") ? "&" : "?"}${parameters.toString()}`;
}
