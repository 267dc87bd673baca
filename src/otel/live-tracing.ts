import { context, propagation, trace } from "@opentelemetry/api";
import type { Tracing } from "../ports/tracing.ts";
import { parseTraceparent } from "../shared/trace-context.ts";

/**
 * Has what instrumentation records in handlers, tools, effects and models, `fetch` for example, hang below the spans that
 * `exportTraces` makes from the log: `createRuntime({ tracing: liveTracing() })`. The program registers the instrumentation and a
 * context manager, as `NodeSDK` of OpenTelemetry does.
 */
export function liveTracing(): Tracing {
  return {
    within(given, run) {
      const place = parseTraceparent(given.traceparent);
      if (place === undefined) return run();
      const { traceId, spanId, isSampled } = place;
      // The propagator of the program reads the baggage.
      const outer = propagation.extract(context.active(), given);
      return context.with(
        trace.setSpanContext(outer, { traceId, spanId, traceFlags: isSampled ? 1 : 0 }),
        run,
      );
    },
    current() {
      const headers: { [name: string]: string } = {};
      propagation.inject(context.active(), headers);
      const { traceparent, tracestate, baggage } = headers;
      if (traceparent === undefined || parseTraceparent(traceparent) === undefined) return undefined;
      return {
        traceparent,
        ...(tracestate !== undefined && { tracestate }),
        ...(baggage !== undefined && { baggage }),
      };
    },
  };
}
