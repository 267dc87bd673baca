import type { Environment } from "../ports/environment.ts";
import type { Json } from "../protocol/json.ts";

/**
 * Carries messages between nodes. It may lose a message or its answer, but delivers only what a node has sent, and at most
 * two minutes later.
 */
export interface Transport {
  /** Where other nodes reach this one. */
  readonly url: string;

  /** Receives messages until the returned function is called. The answer of `receive` goes back to the sender. */
  listen(receive: (message: Json) => Promise<Json>): Promise<() => Promise<void>>;

  /**
   * Sends a message to a node and resolves with its answer. Rejects if the node cannot be reached, if the answer is lost,
   * or when the signal aborts; the message may have arrived in each case. Rejects with `unauthorized` if the node takes no
   * messages of this one.
   */
  send(url: string, message: Json, signal: AbortSignal): Promise<Json>;
}

/** How long an answer is waited for. */
export interface AnswerLimit {
  readonly environment: Pick<Environment, "timer">;
  readonly ms: number;
  /** Ends the wait before. */
  readonly ended?: AbortSignal;
}

/** Sends a message as `send` does, and rejects too when its answer takes longer than the limit. */
export async function sendWithin(
  { environment, ms, ended }: AnswerLimit,
  transport: Transport,
  url: string,
  message: Json,
): Promise<Json> {
  const late = new AbortController();
  const abort = (): void => late.abort();
  const stopTimer = environment.timer(ms, abort);
  ended?.addEventListener("abort", abort);
  try {
    const answer = await transport.send(url, message, late.signal);
    // It may have come together with the end of the wait.
    late.signal.throwIfAborted();
    return answer;
  } finally {
    stopTimer();
    ended?.removeEventListener("abort", abort);
  }
}
