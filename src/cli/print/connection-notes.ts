import { AgentError, isInstance } from "../../errors.ts";

/**
 * A `fetch` that notes when the server cannot be reached any more, and when it can again, each once. A command that never
 * reached the server ends with an error, which says so.
 */
export function createNotingFetch(url: string, note: (text: string) => void): typeof fetch {
  let state: "new" | "connected" | "lost" = "new";

  const lost = (): void => {
    if (state !== "connected") return;
    state = "lost";
    note(`no connection to ${url}; trying again`);
  };

  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      if (GATEWAY_FAULTS.has(response.status)) {
        lost();
      } else {
        if (state === "lost") note(`connected again to ${url}`);
        state = "connected";
      }
      return response;
    } catch (thrown) {
      // The client ends a request with an error when it took too long, and without one when it needs no answer.
      if (init?.signal?.aborted !== true || isInstance(init.signal.reason, AgentError)) lost();
      throw thrown;
    }
  };
}

/** What a proxy answers for a server that cannot be reached, and a server that stops. */
const GATEWAY_FAULTS: ReadonlySet<number> = new Set([502, 503, 504]);
