import { context, propagation, trace } from "@opentelemetry/api";
import type { SpanContext } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { createRuntime, defineAgent, memoryLog } from "troupe";
import { exportTraces, liveTracing } from "troupe/otel";
import { expect, test } from "vitest";
import { Collected } from "./collected.ts";

test("what instrumentation records in a handler and in an effect hangs below the spans of the log", async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const seen: (SpanContext | undefined)[] = [];
  // An instrumentation of fetch asks the same where it begins a span.
  const look = (): void => void seen.push(trace.getSpanContext(context.active()));
  const agent = defineAgent({
    name: "caller",
    purpose: "Asks a service.",
    async chat(_input, turn) {
      look();
      await Promise.resolve();
      await turn.effect("book", async () => {
        await Promise.resolve();
        look();
      });
      look();
      return "done";
    },
  });
  const runtime = createRuntime({ agents: [agent], log: memoryLog(), tracing: liveTracing() });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const request = { type: "ChatRequest", input: "Go", trace: { traceparent } } as const;
  const receipt = await runtime.process("caller", request);
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  const exporter = new Collected();
  const traces = await exportTraces(runtime, { exporter, since: new Date(0) });
  await traces.flush();
  await traces.close();

  const { byName } = exporter;
  const turn = byName["invoke_agent caller"]?.spanContext();
  const effect = byName["execute_tool book"]?.spanContext();
  expect(seen).toMatchObject([turn, effect, turn]);
  expect(turn?.traceId).toBe("0af7651916cd43dd8448eb211c80319c");
  context.disable();
  propagation.disable();
  await runtime.close();
});
