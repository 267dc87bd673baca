import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";

/** What our handlers find in their context. */
export interface AppEnv {
  /** Node's request and response, when Node serves the app. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** Set by the guard for a page of another origin that may read the answer. */
    cors?: Readonly<Record<string, string>>;
  };
}

/** Node's request and response; `undefined` on another host, and where a test calls the app in process. */
export function nodeOf(c: Context<AppEnv>): HttpBindings | undefined {
  // Without bindings Hono leaves `env` undefined, whatever its type says.
  const env = c.env as Partial<HttpBindings> | undefined;
  return env?.incoming && env.outgoing ? { incoming: env.incoming, outgoing: env.outgoing } : undefined;
}
