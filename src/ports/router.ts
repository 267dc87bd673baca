import type { Json } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";

/**
 * Delivers messages to the owner of a run, on any node. With one process, that is this process.
 *
 * A message can arrive twice; its receiver recognizes it by the request id. A reply is sent only after the
 * message's effect is in the log.
 */
export interface Router {
  /** Sends a message to the run's owner; assigns an owner if there is none. */
  send(runId: RunId, message: Json): Promise<Json>;

  /** Registers this node as a possible owner of runs until the returned function is called. */
  serve(handler: RouterHandler): () => Promise<void>;
}

/** Handles messages for the runs that a node owns. */
export interface RouterHandler {
  /** Handles a message for a run; activates the run if needed. */
  deliver(runId: RunId, message: Json): Promise<Json>;
  /** Continues a run whose owner is gone. */
  orphaned(runId: RunId): Promise<void>;
}
