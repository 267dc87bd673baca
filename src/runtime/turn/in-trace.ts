import type { CallId } from "../../protocol/ids.ts";
import { traceAt } from "../replay/turn-trace.ts";
import type { ActorContext } from "./actor-context.ts";

/** Runs code of an agent, a tool, an effect or a model below the span of its call, for those who watch the process. */
export function inTrace<Returned>({ turn }: ActorContext, callId: CallId, run: () => Returned): Returned {
  const { tracing } = turn.context;
  return tracing === undefined ? run() : tracing.within(traceAt(turn.runId, turn.accepted, callId), run);
}
