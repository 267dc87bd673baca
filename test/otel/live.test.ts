import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { context, propagation, trace } from "@opentelemetry/api";
import type { SpanContext } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
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

test("a fetch that is instrumented by the package for it hangs below the spans of the log", async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const fetches = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: fetches })] });
  const undici = new UndiciInstrumentation();
  undici.setTracerProvider(provider);
  const service = createServer((_, response) => response.end("7"));
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const agent = defineAgent({
    name: "caller",
    purpose: "Asks a service.",
    async chat(_input, turn) {
      await (await fetch(url)).text();
      return turn.effect("book", async () => (await fetch(url)).text());
    },
  });
  const runtime = createRuntime({ agents: [agent], log: memoryLog(), tracing: liveTracing() });
  const receipt = await runtime.process("caller", { type: "ChatRequest", input: "Go" });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  const exporter = new Collected();
  const traces = await exportTraces(runtime, { exporter, since: new Date(0) });
  await traces.flush();
  await traces.close();

  const { byName } = exporter;
  const parents = ["invoke_agent caller", "execute_tool book"].map((name) => byName[name]?.spanContext());
  const made = fetches.getFinishedSpans();
  expect(made.map(({ parentSpanContext: parent }) => parent)).toMatchObject(
    parents.map((parent) => ({ traceId: parent?.traceId, spanId: parent?.spanId })),
  );
  undici.disable();
  context.disable();
  propagation.disable();
  service.close();
  await runtime.close();
});
