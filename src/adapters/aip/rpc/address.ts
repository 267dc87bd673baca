import { AgentError } from "../../../errors.ts";
import { isMutual } from "./tls.ts";
import type { AipTls } from "../wire/load.ts";

/** The parts of HOST:PORT. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Parses HOST:PORT; an IPv6 host has brackets. `undefined` for any other text. */
export function toHostPort(text: string): HostPort | undefined {
  const [, host, digits = ""] = HOST_PORT.exec(text) ?? [];
  const port = Number(digits);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** Parses HOST:PORT; `what` names it in the error. */
export function parseHostPort(text: string, what: string): HostPort {
  const parsed = toHostPort(text);
  if (parsed) return parsed;
  throw new AgentError("invalid_request", `${what} is ${JSON.stringify(text)}; it must be HOST:PORT`);
}

/** Refuses an address that other machines can reach without a certificate, unless that is wanted. */
export function checkReachable(
  { host }: HostPort,
  { insecure = false, tls }: { readonly insecure?: boolean | undefined; readonly tls?: AipTls | undefined },
): void {
  if (insecure || isMutual(tls) || isLoopback(host)) return;
  throw new AgentError("forbidden", `${host} can be reached from other machines, and AIP has no tokens`, {
    hint: "listen on 127.0.0.1, ask callers for certificates (--aip-ca, or the option tls), or allow it (--aip-insecure, or the option insecure) in a network that you trust",
  });
}

/** Whether only this machine can reach the host. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const HOST_PORT = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/;
