import type { Standing } from "./connection.ts";

/** What the answer of `GET /request/{request_id}` says of how the request stands. */
export function toStanding(json: unknown): Standing {
  const { status, last_event_id: lastEventId } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(status === "waiting" || status === "completed" ? { status } : {}),
    // What is queued goes on by itself, as what runs does.
    ...((status === "running" || status === "queued") && { status: "running" }),
    ...(Number.isSafeInteger(lastEventId) && { lastEventId: lastEventId as number }),
  };
}
