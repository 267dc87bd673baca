import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { Access, Principal } from "../../ports/principal.ts";

/** The types of the context of our handlers. */
export interface AppEnv {
  /** Node's request and response, if Node serves the app. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** Set by the guard for a page of another origin that may read the answer. */
    cors?: Readonly<Record<string, string>>;
    /** The JSON body, once a handler has read it; later handlers of the request get the same. */
    json?: { readonly value: unknown };
    /** Who makes the request. Set by the guard, except on paths that are open to everyone. */
    principal?: Principal;
    /** For how long it may be believed, if not forever. */
    access?: Access;
    /** The name of the adapter that claimed the request. */
    wire?: string;
  };
}

/** Node's request and response; `undefined` on other hosts and for calls in process. */
export function nodeOf(c: Context<AppEnv>): HttpBindings | undefined {
  // Without bindings Hono leaves `env` undefined, contrary to its type.
  const env = c.env as Partial<HttpBindings> | undefined;
  return env?.incoming && env.outgoing ? { incoming: env.incoming, outgoing: env.outgoing } : undefined;
}
