import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { exportTraces, otlpExporter } from "troupe/otel";
import { expect, test } from "vitest";
import { expectConventions, startCollector, treeOf } from "./collector.ts";

test("a request over two servers is one trace in OTLP, and twice the same bytes", async () => {
  const collector = await startCollector();
  const bank = defineAgent({
    name: "bank",
    purpose: "Pays.",
    chat: (_input, turn) => turn.effect("pay", () => "paid"),
  });
  const far = createRuntime({ agents: [bank], log: memoryLog() });
  const farServer = await serve(far, { drain: false });
  const there = remoteAgent(`${farServer.url}/bank`);
  const desk = defineAgent({
    name: "desk",
    purpose: "Helps.",
    uses: { there },
    async chat(input, turn) {
      return JSON.stringify(await turn.call(there, "chat", { input }));
    },
  });
  const near = createRuntime({ agents: [desk], log: memoryLog() });
  const server = await serve(near, { drain: false });
  const answer = await fetch(`${server.url}/desk/process?wait=completed`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    },
    body: JSON.stringify({ input: "Pay" }),
  });
  expect(await answer.json()).toMatchObject({ finish_reason: "success" });

  const send = async (runtime: Runtime, name: string): Promise<void> => {
    const traces = await exportTraces(runtime, {
      exporter: await otlpExporter(collector.url),
      since: new Date(0),
      name,
    });
    await traces.flush();
    await traces.close();
  };
  for (const name of ["one", "two"]) {
    await send(near, name);
    await send(far, name);
  }

  const { bodies } = collector;
  expect(bodies).toHaveLength(4);
  expect(bodies.slice(2)).toEqual(bodies.slice(0, 2));
  const spans = collector.spans();
  expect(new Set(spans.map((span) => span.trace_id.toString("hex")))).toEqual(
    new Set(["0af7651916cd43dd8448eb211c80319c"]),
  );
  expect(treeOf(spans)).toEqual([
    "execute_tool pay < invoke_agent bank",
    "invoke_agent bank < invoke_agent bank",
    "invoke_agent bank < invoke_agent desk",
    "invoke_agent desk < b7ad6b7169203331",
  ]);
  for (const span of spans) expectConventions(span);

  await server.close({ graceMs: 0 });
  await farServer.close({ graceMs: 0 });
  await near.close();
  await far.close();
});
