import type { Environment } from "../../ports/environment.ts";
import { requestIdOf, typeOf, depthOf } from "../../protocol/events/encode.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { AcknowledgementOptions, Receipt } from "../api.ts";
import type { EventPage } from "../feeds.ts";

/** Reads the events that can acknowledge a receipt. */
export interface AcknowledgementSource {
  /** Opens the part of the log that contains the acknowledgement. */
  open(signal: AbortSignal): Promise<AsyncIterable<EventPage>>;
  /** The oldest open question of the request, if it waits. */
  question(): Promise<string | undefined>;
}

/** Waits for the event that acknowledges or ends a request; `undefined` if it does not come in time. */
export async function acknowledge(
  receipt: Receipt,
  { until, timeoutMs, signal }: AcknowledgementOptions,
  environment: Environment,
  { open, question }: AcknowledgementSource,
): Promise<string | undefined> {
  const { kind, event, requestId } = receipt;
  const isTurn = kind === "turn" || kind === "resume";
  // The end of a turn with cleanup steps comes after the event that answers its cancel.
  const isLast = !isTurn && event !== undefined && typeOf(event) !== "RequestCanceling";
  if (event !== undefined && (until === "acknowledged" || isLast)) return event;
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  const stopTimer = environment.timer(timeoutMs, stop);
  // Listeners added to an aborted signal are not called.
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
    // If the stream ended by itself, the request waits for input; if it was aborted, there is no answer.
    return abort.signal.aborted ? undefined : await question();
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", stop);
  }
}

/** Whether an accepted answer is the one with an id, and not an equal one of somebody else that is replayed. */
export function isOwnAnswer(
  { replayed, event = "{}" }: Pick<Receipt, "replayed" | "event">,
  resumeId: string | undefined,
): boolean {
  if (!replayed) return true;
  const given = JSON.parse(event) as Partial<EventOf<"ResumeWithInput">>;
  return resumeId !== undefined && given.resume_id === resumeId;
}
