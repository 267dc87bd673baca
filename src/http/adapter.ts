import type { Hono } from "hono";
import type { GuardedWire } from "./guards/guards.ts";
import type { AppEnv } from "./messages/app-env.ts";
import type { RefusingWire } from "./messages/refusal.ts";
import type { Place, SharedHost } from "./routes/host.ts";

/**
 * Another HTTP protocol for the same runtime: a wire besides the native one. It keeps nothing of its own; everything it
 * answers comes from the log.
 */
export interface Adapter extends RefusingWire, GuardedWire {
  /** The first segments of its paths at the root. The server does not start with an agent of such a name. */
  readonly roots: readonly string[];
  /**
   * Adds the routes of one place. Called for the root and for each agent, before the native routes are added. A
   * handler of a path that is also a native one either claims the request with `c.set("wire", name)`, so that it is
   * refused in the wire's words, or passes it on with `next()`.
   */
  addRoutes(app: Hono<AppEnv>, host: SharedHost, place: Place): void;
  /**
   * Whether an own path needs no token. It is also served under any IP address, as health checks use them. Default: no
   * path.
   */
  open?(path: string): boolean;
}
