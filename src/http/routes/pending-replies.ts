import type { Context } from "hono";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";

/** The answers that are being waited for. They end early when the asker hangs up, or the server is stopping. */
export class PendingReplies {
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** Waits for something on behalf of a request. The signal fires when waiting is of no more use. */
  async until<Result>(
    c: Context<AppEnv>,
    timeoutMs: number,
    wait: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const stop = new AbortController();
    const giveUp = (): void => stop.abort();
    const outgoing = nodeOf(c)?.outgoing;
    const timer = setTimeout(giveUp, timeoutMs);
    outgoing?.once("close", giveUp);
    this.#open.add(stop);
    try {
      const result = wait(stop.signal);
      // Only now, because a signal that has fired already tells those nothing who listen to it later.
      if (this.#isClosed || outgoing?.destroyed === true) giveUp();
      return await result;
    } finally {
      clearTimeout(timer);
      outgoing?.off("close", giveUp);
      this.#open.delete(stop);
    }
  }

  /** Ends all waits, also those to come. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#open) stop.abort();
  }
}
