import type { Place, SentEvent } from "./event.ts";
import { callKey } from "./fold.ts";

/** Where an event belongs. */
export function placeOf({ request_id, agent = "", depth = 0, ts = "", parent_call_id }: SentEvent): Place {
  const requestId = request_id ?? null;
  return { requestId, agent, depth, at: ts, actor: callKey(requestId ?? "", parent_call_id) };
}
