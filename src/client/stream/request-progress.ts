/** The progress of a request on its server. */
export interface RequestProgress {
  readonly status?: "running" | "waiting" | "completed";
  readonly lastEventId?: number;
}

/** Reads the progress of a request from the answer of `GET /request/{request_id}`. */
export function toProgress(json: unknown): RequestProgress {
  const { status, last_event_id: lastEventId } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(status === "waiting" || status === "completed" ? { status } : {}),
    // A queued request continues by itself, like a running one.
    ...((status === "running" || status === "queued") && { status: "running" }),
    ...(Number.isSafeInteger(lastEventId) && { lastEventId: lastEventId as number }),
  };
}
