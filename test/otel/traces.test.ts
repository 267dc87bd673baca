import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent, defineTool, memoryLog } from "troupe";
import type { Agent, EventLog, Runtime } from "troupe";
import { scriptedModel } from "troupe/llm";
import { sqliteLog } from "troupe/storage/sqlite";
import { exportTraces } from "troupe/otel";
import type { TraceExporter } from "troupe/otel";
import { expect, test } from "vitest";
import { z } from "zod";
import { Collected } from "./collected.ts";

const PARENT = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };

const weather = defineTool({
  name: "weather",
  description: "The weather of a city.",
  input: z.object({ city: z.string() }),
  run({ city }, turn) {
    if (city === "nowhere") throw new Error("no such city");
    return { headers: turn.traceHeaders() };
  },
});

const stock = defineAgent({
  name: "stock",
  purpose: "Counts.",
  operations: (one) => ({
    count: one({
      description: "Counts.",
      input: z.object({}),
      output: z.number(),
      run: () => 7,
    }),
  }),
});

const model = scriptedModel(["It is sunny."], { name: "openai/gpt-9" });

const desk: Agent = defineAgent({
  name: "desk",
  purpose: "Helps.",
  tools: [weather],
  uses: { stock },
  async chat(input, turn) {
    const { headers } = await turn.tool(weather, { city: "Bonn" });
    await turn.tool(weather, { city: "nowhere" }).catch(() => {});
    await turn.ask(turn.actor(stock, "main"), "count", {});
    await turn.tell(turn.actor(stock, "main"), "count", {});
    await turn.complete({ model, input });
    const { ok } = await turn.waitForInput({ ok: "Ok?" });
    return JSON.stringify({ ok, headers });
  },
});

function start(log: EventLog): Runtime {
  return createRuntime({ agents: [desk, stock], log });
}

async function exported(runtime: Runtime, exporter: TraceExporter, name?: string): Promise<void> {
  const traces = await exportTraces(runtime, { exporter, since: new Date(0), ...(name && { name }) });
  await traces.flush();
  await traces.close();
}

async function answer(runtime: Runtime, runId: string): Promise<string> {
  const { requestId } = await runtime.process("desk", {
    type: "ResumeWithInput",
    run_id: runId,
    request_keys: { ok: "yes" },
  });
  const receipt = { runId, requestId, kind: "turn", replayed: false, after: 0 } as const;
  return (await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 })) ?? "";
}

async function ask(runtime: Runtime, trace?: typeof PARENT): Promise<string> {
  const receipt = await runtime.process("desk", {
    type: "ChatRequest",
    input: "Hello",
    request_id: "req-1",
    ...(trace && { trace }),
  });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  return receipt.runId ?? "";
}

test("a request is one trace with its agents, tools, models, waits and asks, and a tell has a trace of its own", async () => {
  const runtime = start(memoryLog());
  const runId = await ask(runtime, PARENT);
  const end = JSON.parse(await answer(runtime, runId)) as { readonly result: string };
  const collected = new Collected();
  await exported(runtime, collected);

  expect(collected.tree.toSorted()).toEqual([
    "ask stock.count < invoke_agent desk",
    "chat gpt-9 < invoke_agent desk",
    "execute_tool weather < invoke_agent desk",
    "execute_tool weather < invoke_agent desk",
    "invoke_agent desk < b7ad6b7169203331",
    "invoke_agent stock",
    "invoke_agent stock < ask stock.count",
    "tell stock.count < invoke_agent desk",
    "wait desk < invoke_agent desk",
  ]);
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  expect(collected.traceIds).toHaveLength(2);
  expect(collected.traceIds).toContain(traceId);
  const { byName } = collected;
  const told = collected.getFinishedSpans().find((span) => span.parentSpanContext === undefined);
  expect(told?.links[0]?.context).toMatchObject({
    traceId,
    spanId: byName["tell stock.count"]?.spanContext().spanId,
  });
  expect(byName["chat gpt-9"]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-9",
    "gen_ai.conversation.id": runId,
  });
  const tools = collected.getFinishedSpans().filter(({ name }) => name === "execute_tool weather");
  expect(tools.map(({ status }) => status)).toEqual([{ code: 0 }, { code: 2, message: "no such city" }]);
  expect(tools[1]?.attributes["error.type"]).toBe("tool_error");
  const { headers } = JSON.parse(end.result) as { readonly headers: Record<string, string> };
  expect(headers).toEqual({ traceparent: `00-${traceId}-${tools[0]?.spanContext().spanId}-01` });
  await runtime.close();
});

test("the same log gives the same bytes, whoever exports it, before and after a restart", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-traces-"));
  const first = start(sqliteLog(directory));
  const runId = await ask(first);
  await first.close();

  // The process ends while the request waits.
  const second = start(sqliteLog(directory));
  await second.ready();
  await answer(second, runId);
  const [one, two] = [new Collected(), new Collected()];
  await exported(second, one);
  await exported(second, two, "others");
  expect(one.bytes).toHaveLength(9);
  expect(two.bytes).toEqual(one.bytes);
  await second.close();
  await rm(directory, { recursive: true });
});

test("an export that ends together with its runtime reports nothing", async () => {
  const runtime = start(memoryLog());
  const faults: string[] = [];
  const traces = await exportTraces(runtime, {
    exporter: new Collected(),
    report: (where, thrown) => faults.push(`${where}: ${String(thrown)}`),
  });
  const runId = await ask(runtime);
  await answer(runtime, runId);
  await Promise.all([traces.close(), runtime.close({ drainMs: 0 })]);
  expect(faults).toEqual([]);
});

test("an export goes on where the last one has ended, and nothing is missing", async () => {
  const log = memoryLog();
  const runtime = start(log);
  const before = new Collected();
  const traces = await exportTraces(runtime, { exporter: before, since: new Date(0) });
  const runId = await ask(runtime);
  await traces.flush();
  await traces.close();
  expect(before.byName["invoke_agent desk"]).toBeUndefined();
  expect(before.byName["chat gpt-9"]).toBeDefined();

  await answer(runtime, runId);
  const after = new Collected();
  const again = await exportTraces(runtime, { exporter: after });
  await again.flush();
  await again.close();
  expect(after.byName["invoke_agent desk"]?.startTime).toBeDefined();
  expect(new Set([...before.bytes, ...after.bytes]).size).toBe(9);
  await runtime.close();
});

test("what is said is exported only if that is asked for, and a function may take something out", async () => {
  const runtime = start(memoryLog());
  await answer(runtime, await ask(runtime));
  const content = async (option: "none" | "all" | (() => string)): Promise<Collected> => {
    const exporter = new Collected();
    const traces = await exportTraces(runtime, {
      exporter,
      since: new Date(0),
      name: "said",
      content: option,
    });
    await traces.flush();
    await traces.close();
    return exporter;
  };
  expect(JSON.stringify((await content("none")).byName["execute_tool weather"]?.attributes)).not.toContain(
    "nowhere",
  );
  const all = (await content("all")).byName;
  expect(all["execute_tool weather"]?.attributes["gen_ai.tool.call.arguments"]).toBe('{"city":"nowhere"}');
  expect(all["invoke_agent desk"]?.attributes["gen_ai.input.messages"]).toContain('"content":"Hello"');
  const cut = (await content(() => "cut")).byName;
  expect(cut["execute_tool weather"]?.attributes["gen_ai.tool.call.arguments"]).toBe('"cut"');
  await runtime.close();
});

test("an exporter that fails is given the same spans again", async () => {
  const runtime = start(memoryLog());
  await answer(runtime, await ask(runtime));
  const collected = new Collected();
  let failures = 1;
  const faults: string[] = [];
  const traces = await exportTraces(runtime, {
    since: new Date(0),
    report: (where, thrown) => faults.push(`${where}: ${String(thrown)}`),
    exporter: {
      shutdown: async () => {},
      export(spans, done) {
        if (failures > 0) {
          failures -= 1;
          done({ code: 1, error: new Error("the collector is away") });
        } else collected.export(spans as never, done);
      },
    },
  });
  await traces.flush();
  await traces.close();
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain("the collector is away");
  expect(collected.bytes).toHaveLength(9);
  await runtime.close();
});
