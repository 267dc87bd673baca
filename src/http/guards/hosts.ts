import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { quoted } from "./quoted.ts";

/** The hosts that a server answers to. */
export interface HostCheck {
  /**
   * Throws `misdirected` when the request is addressed to another host. `byAddress` says whether its path is also
   * served under any IP address.
   */
  check(c: Context<AppEnv>, host: string, byAddress: () => boolean): void;
}

/**
 * Creates the check against DNS rebinding, in which the name of another site resolves to this server: the browser
 * then sends that name as the host. The entry `*` allows every name. That is safe only if requests need a token or the like.
 */
export function createHostCheck(allowedHosts: readonly string[], isGuarded: boolean): HostCheck {
  const allowed = new Set([...LOOPBACK, ...allowedHosts.map(toName)]);
  const any = allowed.has("*");
  if (any && !isGuarded) {
    throw new AgentError("forbidden", "allowedHosts has *, and there is no token", {
      hint: "set a token, or list the names: without both, a web page can use the server by DNS rebinding",
    });
  }

  function isServed(host: string): boolean {
    const name = NAME_AND_PORT.exec(host)?.[1];
    return name !== undefined && (any || allowed.has(name) || allowed.has(host));
  }

  return {
    check(c, host, byAddress) {
      const isRight = (given: string): boolean => isServed(given) || (ADDRESS.test(given) && byAddress());
      if (!isRight(host)) throw misdirected(host);
      const target = nodeOf(c)?.incoming.url;
      // A target in absolute form contains a host of its own, which is checked like the header.
      if (target === undefined || target.startsWith("/")) return;
      const named = new URL(c.req.url).host;
      if (!isRight(named)) throw misdirected(named);
    },
  };
}

/** Names of the local machine. They match on any port, because a container's port can be mapped. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

const NAME_AND_PORT = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

/** An IP address, but not the one that stands for all addresses; with or without a port. */
const ADDRESS = /^(?!0\.0\.0\.0|\[::\])(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

function toName(entry: string): string {
  const name = entry.toLowerCase();
  if (name === "*" || NAME_AND_PORT.test(name)) return name;
  throw new AgentError("invalid_request", `the allowed host ${quoted(entry)} is not a host name`, {
    hint: "write app.example or app.example:8443, or * for every name",
  });
}

function misdirected(host: string): AgentError {
  return new AgentError("misdirected", `this server is not ${quoted(host)}`, {
    hint: "allow the name with --allowed-host or the option allowedHosts",
  });
}
