import type { AgentError } from "../../errors.ts";

/** A part of a followed stream: new events, or a change of its connection. */
export type Followed<Received> =
  | { readonly type: "events"; readonly events: readonly Received[] }
  /** There is a connection. */
  | { readonly type: "live" }
  /** The connection failed; the next attempt follows. */
  | { readonly type: "lost"; readonly error: AgentError }
  /** There is no connection, because the page is hidden. */
  | { readonly type: "hidden" };
