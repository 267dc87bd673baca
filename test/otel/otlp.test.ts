import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadSync } from "@grpc/proto-loader";
import type { ServiceDefinition } from "@grpc/proto-loader";
import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { remoteAgent } from "troupe/client";
import { serve } from "troupe/node";
import { exportTraces, otlpExporter } from "troupe/otel";
import { expect, test } from "vitest";

interface Sent {
  readonly name: string;
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly attributes: readonly { readonly key: string }[];
}

const service = loadSync(join(import.meta.dirname, "otlp.proto"), { keepCase: true })[
  "opentelemetry.TraceService"
] as ServiceDefinition;

/** What the conventions require, by the operation: model/gen-ai/spans.yaml of the commit that `src/otel/conventions.ts` names. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  invoke_agent: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name"],
  execute_tool: ["gen_ai.operation.name", "gen_ai.tool.name"],
};

test("a request over two servers is one trace in OTLP, and twice the same bytes", async () => {
  const bodies: Buffer[] = [];
  const collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

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
      exporter: await otlpExporter(url),
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

  expect(bodies).toHaveLength(4);
  expect(bodies.slice(2)).toEqual(bodies.slice(0, 2));
  const spans = bodies.slice(0, 2).flatMap((body) => {
    const read = service["Export"]?.requestDeserialize(body) as {
      readonly resource_spans: readonly { readonly scope_spans: readonly { readonly spans: Sent[] }[] }[];
    };
    return read.resource_spans.flatMap((one) => one.scope_spans.flatMap((scope) => scope.spans));
  });
  const names = new Map(spans.map((span) => [span.span_id.toString("hex"), span.name]));
  expect(new Set(spans.map((span) => span.trace_id.toString("hex")))).toEqual(
    new Set(["0af7651916cd43dd8448eb211c80319c"]),
  );
  const tree = spans.map(({ name, parent_span_id: parent }) => {
    const id = parent.toString("hex");
    return `${name} < ${names.get(id) ?? id}`;
  });
  expect(tree).toEqual([
    "invoke_agent bank < invoke_agent desk",
    "invoke_agent desk < b7ad6b7169203331",
    "execute_tool pay < invoke_agent bank",
    "invoke_agent bank < invoke_agent bank",
  ]);
  for (const { name, attributes } of spans)
    expect(attributes.map(({ key }) => key)).toEqual(
      expect.arrayContaining([...(REQUIRED[name.split(" ")[0] ?? ""] ?? ["no such operation"])]),
    );

  await server.close({ graceMs: 0 });
  await farServer.close({ graceMs: 0 });
  await near.close();
  await far.close();
  collector.close();
});
