import { AgentError, toAgentError } from "../errors.ts";
import type { Router, RouterHandler } from "../ports/router.ts";

/** A router for one process: it passes every message directly to the registered handler. */
export function localRouter(): Router {
  const handlers = new Set<RouterHandler>();
  const deliveries = new Map<RouterHandler, Set<Promise<unknown>>>();

  return {
    async send(runId, message, { isNew = false } = {}) {
      const [handler] = handlers;
      if (handler === undefined) {
        throw new AgentError("unavailable", `no handler is registered for messages to run ${runId}`);
      }
      const underWay = deliveries.get(handler);
      const delivery = handler.deliver(runId, message, isNew ? { isNew } : undefined);
      underWay?.add(delivery);
      try {
        return await delivery;
      } catch (thrown) {
        throw toAgentError(thrown);
      } finally {
        underWay?.delete(delivery);
      }
    },
    async serve(handler) {
      const underWay = new Set<Promise<unknown>>();
      handlers.add(handler);
      deliveries.set(handler, underWay);
      return async () => {
        handlers.delete(handler);
        deliveries.delete(handler);
        await Promise.allSettled(underWay);
      };
    },
    async drain() {},
    isMine: async () => true,
    leads: () => true,
    members: () => [],
    health: () => ({ ready: true }),
  };
}
