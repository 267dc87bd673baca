import { createRuntime, DEFAULT_OWNER, memoryLog } from "troupe";
import { createClient } from "troupe/client";
import { createMetrics } from "troupe/http";
import { llmAgent, scriptedModel } from "troupe/llm";
import { serve } from "troupe/node";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { costText } from "../../../src/view/cost-text.ts";

test("runs, status, budgets and metrics have the sum of the completions", async () => {
  const log = memoryLog();
  const metrics = createMetrics();
  const price = { input: 3, output: 15 };
  const agent = llmAgent({
    name: "clerk",
    purpose: "Pays.",
    instructions: "Be brief.",
    model: scriptedModel(["Paid.", "Paid again.", "Never again."], { price }),
  });
  const runtime = createRuntime({
    agents: [agent],
    log,
    telemetry: metrics,
    owners: () => ({ costPerDay: 1_000 }),
  });
  const server = await serve(runtime, { drain: false, metrics });
  const client = createClient(server.url);
  let run: Awaited<ReturnType<typeof client.runs>>["runs"][number] | undefined;
  let sum = 0;
  // One after the other, in one run.
  for (const input of ["Pay it.", "Pay it again.", "And again."]) {
    const events = await collect(runtime, "clerk", {
      type: "ChatRequest",
      input,
      ...(run && { run_id: run.run_id }),
    });
    sum += ofType(events, "CompletionResult").reduce((total, { usage }) => total + (usage.cost ?? 0), 0);
    [run] = (await client.runs()).runs;
  }
  expect(sum).toBeGreaterThan(0);
  expect(run?.usage?.cost).toBeCloseTo(sum, 12);
  const status = await client.run(run?.run_id ?? "").view();
  expect(status.usage.cost).toBeCloseTo(sum, 12);
  const day = Math.floor(Date.parse(run?.updated_at ?? "") / 86_400_000);
  expect((await log.spending.on({ owner: DEFAULT_OWNER, day })).cost).toBeCloseTo(sum, 12);
  const counted = /^troupe_model_cost_total\{.*\} (\S+)$/m.exec(await metrics.text())?.[1];
  expect(Number(counted)).toBeCloseTo(sum, 12);
  await server.close();
  await runtime.close();
});

test.each([
  [{}, ""],
  [{ input_tokens: 10 }, "unknown"],
  [{ input_tokens: 10, cost: 0 }, "$0.00"],
  [{ input_tokens: 10, cost: 12.345 }, "$12.35"],
  [{ input_tokens: 10, cost: 0.004_156_8 }, "$0.0042"],
  [{ input_tokens: 10, cost: 1e-12 }, "$0.0000000000"],
])("the cost in %j is shown as %j", (usage, text) => {
  expect(costText(usage)).toBe(text);
});
