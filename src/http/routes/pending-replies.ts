import type { Context } from "hono";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";

/**
 * Requests that wait for an answer. A wait ends early when the client disconnects or the server is stopping.
 */
export class PendingReplies {
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /**
   * Waits for a result on behalf of a request. The signal aborts when the result is no longer needed, and after
   * `timeoutMs`; without it, the wait must end by itself.
   */
  async until<Result>(
    c: Context<AppEnv>,
    wait: (signal: AbortSignal) => Promise<Result>,
    timeoutMs?: number,
  ): Promise<Result> {
    const stop = new AbortController();
    const giveUp = (): void => stop.abort();
    const outgoing = nodeOf(c)?.outgoing;
    const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
    outgoing?.once("close", giveUp);
    this.#open.add(stop);
    try {
      const result = wait(stop.signal);
      // Checked here, because a listener added later is not called for an aborted signal.
      if (this.#isClosed || outgoing?.destroyed === true) giveUp();
      return await result;
    } finally {
      clearTimeout(timer);
      outgoing?.off("close", giveUp);
      this.#open.delete(stop);
    }
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#open) stop.abort();
  }
}
