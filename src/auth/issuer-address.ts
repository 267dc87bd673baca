import { AgentError } from "../errors.ts";

/** Throws unless an address is https, or http on this machine: keys that others could replace prove nothing. */
export function checkIssuerAddress(address: string, what: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocalHost(url.hostname))) return;
  throw new AgentError("invalid_request", `${what} must start with https://: ${JSON.stringify(address)}`);
}

/** Whether a host name is this machine's own. */
export function isLocalHost(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
