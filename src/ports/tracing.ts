import type { TraceContext } from "../shared/trace-context.ts";

/** Tells the instrumentation of a process which span of the log its code works for. Its methods never throw. */
export interface Tracing {
  /** Runs code below a span: what instrumentation records in it, and in what it awaits, has this span as its parent. */
  within<Returned>(trace: TraceContext, run: () => Returned): Returned;
  /** The span that the code which runs is below, for a request that comes without a trace. */
  current(): TraceContext | undefined;
}
