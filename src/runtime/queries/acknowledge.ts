import type { Environment } from "../../ports/environment.ts";
import { requestIdOf, typeOf, depthOf } from "../../protocol/encode.ts";
import type { AcknowledgementOptions, EventPage, Receipt } from "../api.ts";

/** Where the answer to a receipt comes from. */
export interface AcknowledgementSource {
  /** Opens the part of the log that answers. */
  open(signal: AbortSignal): Promise<AsyncIterable<EventPage>>;
  /** The oldest question that the request has open, if it waits. */
  question(): Promise<string | undefined>;
}

/** Waits for the event that acknowledges or ends what a receipt stands for; `undefined` when it does not come in time. */
export async function acknowledge(
  receipt: Receipt,
  { until, timeoutMs, signal }: AcknowledgementOptions,
  environment: Environment,
  { open, question }: AcknowledgementSource,
): Promise<string | undefined> {
  const { kind, event, requestId } = receipt;
  if (event !== undefined && (until === "acknowledged" || kind === "cancel" || kind === "configure"))
    return event;
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  const stopTimer = environment.timer(timeoutMs, stop);
  // A signal that has fired already tells its listeners nothing more.
  if (signal?.aborted === true) stop();
  signal?.addEventListener("abort", stop);
  try {
    for await (const { events } of await open(abort.signal)) {
      for (const text of events) {
        if (requestIdOf(text) !== requestId) continue;
        if (until === "acknowledged") return text;
        if (typeOf(text) === "RequestCompleted" && depthOf(text) === 0) return text;
      }
    }
    // A stream that ended by itself says that the request is parked; an end by time has no answer.
    return abort.signal.aborted ? undefined : await question();
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", stop);
  }
}
