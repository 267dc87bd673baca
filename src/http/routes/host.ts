import type { Runtime } from "../../runtime/api.ts";
import type { Mount } from "../messages/mount.ts";
import type { PollCursors } from "./poll-cursors.ts";
import type { OpenStreams } from "../sse/open-streams.ts";
import type { PendingReplies } from "./pending-replies.ts";

/** What the routes work with. Only the runtime knows about turns. */
export interface Host {
  readonly runtime: Runtime;
  readonly streams: OpenStreams;
  readonly waits: PendingReplies;
  readonly cursors: PollCursors;
  readonly report: (where: string, thrown: unknown) => void;
  readonly mount: Mount;
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
}

/** The path of a set of routes and its agent; at the root, all agents. */
export interface Place {
  /** Empty at the root, otherwise `/` and the agent's name. */
  readonly path: string;
  readonly agent: string | undefined;
}
