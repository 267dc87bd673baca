import type { Json } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";

/**
 * Brings messages to the owner of a run, wherever it is. With one process that is this process.
 *
 * A message may arrive twice; its receiver recognises it by the request id in it. An answer is given
 * only after what it acknowledges is in the log.
 */
export interface Router {
  /** Sends a message to the run's owner, making some node the owner if there is none. */
  send(runId: RunId, message: Json): Promise<Json>;

  /** Offers this node as an owner of runs until the answer is called. */
  serve(handler: RouterHandler): () => Promise<void>;
}

/** What a node does for the runs it owns. */
export interface RouterHandler {
  /** Takes a message for a run, activating the run first if need be. */
  deliver(runId: RunId, message: Json): Promise<Json>;
  /** Looks after a run whose owner has gone. */
  orphaned(runId: RunId): Promise<void>;
}
