import type { CallId, RunId } from "../../protocol/ids.ts";
import { placeOfRequest, spanIdOf, toTraceparent } from "../../shared/trace-context.ts";
import type { TraceContext } from "../../shared/trace-context.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { isRoot } from "../journal/call-id.ts";

/**
 * The trace that what a call of a turn does is a part of: below the span of the call, or of the turn itself. Equal each time,
 * because it follows from ids.
 */
export function traceAt(
  runId: RunId,
  { requestId, request }: Pick<AcceptedRequest, "requestId" | "request">,
  callId: CallId,
): TraceContext {
  const { traceId, isSampled, parent } = placeOfRequest(runId, requestId, request.trace);
  const { tracestate, baggage } = request.trace ?? {};
  const spanId = spanIdOf(runId, requestId, isRoot(callId) ? "" : callId);
  return {
    traceparent: toTraceparent({ traceId, spanId, isSampled }),
    // It belongs to the trace, and baggage to what is done in it.
    ...(parent !== undefined && tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage }),
  };
}
