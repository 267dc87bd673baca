import type { RunId } from "troupe/protocol";
import type { Router, RouterHandler } from "../../src/ports/router.ts";

/** The routers of several nodes. A run is owned by the node that was sent its first message, until it moves. */
export class Routers {
  readonly #handlers: RouterHandler[] = [];
  readonly #owners = new Map<RunId, number>();

  router(node: number): Router {
    return {
      send: (runId, message) => {
        const owner = this.#owners.get(runId) ?? node;
        this.#owners.set(runId, owner);
        const handler = this.#handlers[owner];
        if (handler === undefined) throw new Error("the owner of a run has not started");
        return handler.deliver(runId, message);
      },
      serve: async (handler) => {
        this.#handlers[node] = handler;
        return async () => {};
      },
      drain: async () => {},
      isMine: async () => true,
      leads: () => true,
      members: () => [],
      health: () => ({ ready: true }),
    };
  }

  /** Moves all runs to a node; their owner before does not notice. */
  move(node: number): void {
    for (const runId of this.#owners.keys()) this.#owners.set(runId, node);
  }
}
