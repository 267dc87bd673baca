import type { Environment } from "../ports/environment.ts";
import { requestIdOf, typeOf, depthOf } from "../protocol/encode.ts";
import type { Event } from "../protocol/events.ts";
import type { AcknowledgementOptions, EventPage, Receipt } from "./api.ts";

/** Waits for the event that acknowledges or ends what a receipt stands for; `undefined` when it does not come in time. */
export async function acknowledge(
  receipt: Receipt,
  { until, timeoutMs, signal }: AcknowledgementOptions,
  environment: Environment,
  open: (signal: AbortSignal) => Promise<AsyncIterable<EventPage>>,
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
  const waits = new Map<number, string>();
  try {
    for await (const { events } of await open(abort.signal)) {
      for (const text of events) {
        if (requestIdOf(text) !== requestId) continue;
        if (until === "acknowledged") return text;
        const type = typeOf(text);
        if (type === "RequestCompleted" && depthOf(text) === 0) return text;
        if (type === "WaitForInput") waits.set((JSON.parse(text) as Event).id, text);
        if (type === "ResumeWithInput")
          waits.delete((JSON.parse(text) as { readonly wait_id: number }).wait_id);
      }
    }
    const [oldest] = waits.values();
    // The stream ended by itself, so the request is parked; an end by time has no answer.
    return abort.signal.aborted ? undefined : oldest;
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", stop);
  }
}
