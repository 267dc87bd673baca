import type { Turn } from "../../runtime/agent/turn-api.ts";

/** A server of the Model Context Protocol: a program to start, or an address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /**
       * Variables in addition to the few that every program needs; others of this process are not passed on. A function
       * gets the turn that needs the server, and each set of variables has a program of its own.
       */
      readonly env?: OfTurn<NamedTexts>;
      readonly cwd?: string;
    }
  | {
      readonly url: string;
      /** A function gets the turn that needs the server, for example to read a token from its configuration. */
      readonly headers?: OfTurn<NamedTexts>;
      /** For a server at which a person must sign in. */
      readonly oauth?: McpOAuth;
    };

/** How people sign in at an MCP server, by OAuth 2.1 with PKCE. */
export interface McpOAuth {
  /** Where the browser is led after the consent, as it is registered at the authorization server. */
  readonly redirectUrl: string;
  /** Whose tokens a turn uses. Default: there is one sign-in for all. */
  readonly owner?: (turn: Turn) => string;
  /** The client, if it is registered by hand. Default: it registers itself. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
}

/** Texts by name: variables of a program, or headers. */
export interface NamedTexts {
  readonly [name: string]: string;
}

/** A value, or a function of the turn that needs it. */
export type OfTurn<Value> = Value | ((turn: Turn) => Value);

/** A server with the variables or headers of one connection. */
export type McpTarget =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: NamedTexts;
      readonly cwd: string | undefined;
    }
  | {
      readonly url: string;
      readonly headers: NamedTexts;
      /** Whose tokens are used, if a person must sign in. */
      readonly owner?: string;
    };

/** Whether the connection to a server depends on the turn that needs it. */
export function isOfTurn(server: McpServer): boolean {
  if ("url" in server) return typeof server.headers === "function" || server.oauth !== undefined;
  return typeof server.env === "function";
}

/** The server for a turn; without one, of a server that does not depend on it. */
export function toTarget(server: McpServer, turn?: Turn): McpTarget {
  if ("url" in server) {
    const { url, oauth } = server;
    const headers = valueFor(server.headers, turn);
    return { url, headers, ...(oauth && { owner: turn && oauth.owner ? oauth.owner(turn) : EVERYBODY }) };
  }
  const { command, args = [], env, cwd } = server;
  return { command, args, env: valueFor(env, turn), cwd };
}

/** The owner of a sign-in for all. */
const EVERYBODY = "default";

function valueFor(given: OfTurn<NamedTexts> | undefined, turn: Turn | undefined): NamedTexts {
  if (typeof given !== "function") return given ?? {};
  return turn === undefined ? {} : given(turn);
}
