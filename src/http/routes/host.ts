import type { Context } from "hono";
import type { Runtime } from "../../runtime/api.ts";
import type { Principal } from "../../ports/principal.ts";
import type { AppEnv } from "../messages/app-env.ts";
import type { Mount } from "../messages/mount.ts";
import type { OpenStreams } from "../sse/open-streams.ts";
import type { PendingReplies } from "./pending-replies.ts";

/** What the routes of the native protocol and of adapters work with. Only the runtime knows about turns. */
export interface Host {
  readonly runtime: Runtime;
  readonly streams: OpenStreams;
  readonly waits: PendingReplies;
  readonly report: (where: string, thrown: unknown) => void;
  readonly mount: Mount;
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
  /**
   * Finds out whose token a text is, throws if it is nobody's, and counts wrong ones; absent if everyone may use the server.
   */
  readonly authenticate?: (c: Context<AppEnv>, token: string) => Promise<Principal>;
}

/** The path of a set of routes and its agent; at the root, all agents. */
export interface Place {
  /** Empty at the root, otherwise `/` and the agent's name. */
  readonly path: string;
  readonly agent: string | undefined;
}
