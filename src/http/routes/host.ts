import type { Runtime } from "../../runtime/api.ts";
import type { PollCursors } from "./poll-cursors.ts";
import type { OpenStreams } from "../sse/open-streams.ts";
import type { PendingReplies } from "./pending-replies.ts";

/** What the routes work with. None of it knows of turns: that is the runtime's alone. */
export interface Host {
  readonly runtime: Runtime;
  readonly streams: OpenStreams;
  readonly waits: PendingReplies;
  readonly cursors: PollCursors;
  readonly report: (where: string, thrown: unknown) => void;
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
}

/** Where a set of routes is served, and whose it is: one agent's, or at the root everybody's. */
export interface Place {
  /** Empty at the root, else `/` and the agent's name. */
  readonly path: string;
  readonly agent: string | undefined;
}
