/** The progress of a request on its server. */
export interface RequestProgress {
  readonly status?: "running" | "waiting" | "completed" | undefined;
  readonly lastEventId?: number | undefined;
}

/** Reads the progress of a request from the answer of `GET /request/{request_id}`. */
export function toProgress(json: unknown): RequestProgress {
  const { status, last_event_id: lastEventId } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return {
    // A queued request continues by itself, like a running one.
    status: status === "queued" ? "running" : (status as RequestProgress["status"]),
    lastEventId: Number.isSafeInteger(lastEventId) ? (lastEventId as number) : undefined,
  };
}
