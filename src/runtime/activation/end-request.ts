import { ownerOf } from "../../ports/principal.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { RunContext } from "../run-context.ts";
import type { RequestEnd, RunLedger } from "./run-ledger.ts";

/** Writes the end of a started request, and reports it. Returns the encoded RequestCompleted. */
export function endRequest(
  { environment, telemetry }: RunContext,
  ledger: RunLedger,
  speaker: Speaker,
  accepted: AcceptedRequest,
  end: RequestEnd,
): string {
  const { runId } = ledger;
  const { requestId, agent, acceptedAt, request } = accepted;
  const { finishReason, error } = end;
  const text = ledger.end(speaker, accepted, end);
  // Another node may have accepted it, by a clock that is ahead.
  const ms = Math.max(environment.now() - acceptedAt, 0);
  telemetry.completed(agent, finishReason, ms, {
    runId,
    requestId,
    owner: ownerOf(accepted),
    ...(request.trace && { trace: request.trace }),
    ...(error && { error }),
  });
  return text;
}
