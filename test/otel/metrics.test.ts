import { createRuntime, defineAgent, defineTool } from "troupe";
import type { Model, Runtime } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import type { Metrics } from "troupe/http";
import { exportMetrics, otlpMetricExporter } from "troupe/otel";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { samplesOf, startCollector } from "./collector.ts";

const model: Model = {
  name: "told",
  async *generate() {
    const usage = { input_tokens: 10, cached_input_tokens: 4, output_tokens: 2, cost: 0.25 };
    yield { type: "text", text: "Four." };
    yield { type: "result", result: null, usage };
  },
};

const search = defineTool({
  name: "search",
  description: "Finds a page.",
  input: z.object({ page: z.string() }),
  run: ({ page }) => {
    if (page === "none") throw new Error("there is no such page");
    return page;
  },
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Answers.",
  async chat(input, turn) {
    await turn.tool(search, { page: input }).catch(() => {});
    await turn.complete({ model, input });
  },
});

function start(): { readonly runtime: Runtime; readonly metrics: Metrics } {
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [clerk], telemetry: metrics });
  onTestFinished(() => runtime.close());
  return { runtime, metrics };
}

async function say(runtime: Runtime, input: string): Promise<void> {
  const receipt = await runtime.process("clerk", { type: "ChatRequest", input });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
}

test("metrics over OTLP have the names, types, labels and numbers that /metrics has at the same time", async () => {
  const collector = await startCollector();
  const { runtime, metrics } = start();
  const app = createApp(runtime, { metrics });
  for (const input of ["home", "none", 'say "a\\b"']) await say(runtime, input);
  const exported = exportMetrics(metrics, { exporter: await otlpMetricExporter(collector.url) });
  await exported.flush();
  const text = await (await app.request("/metrics")).text();
  await exported.close();

  const [sent = []] = collector.exports();
  const isOurs = (line: string): boolean => line.startsWith("troupe_");
  const shown = text.split("\n").filter(isOurs).map(withSortedLabels);
  expect(samplesOf(sent).filter(isOurs).toSorted()).toEqual(shown.toSorted());
  expect(shown).toContain('troupe_model_tokens_total{agent="clerk",kind="cached_input",model="told"} 12');

  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  for (const { name, sum, gauge, histogram, unit } of sent) {
    expect([name, sum ? "counter" : gauge ? "gauge" : "histogram"]).toEqual([name, types.get(name)]);
    expect(unit ?? "").toBe("");
    expect(sum?.is_monotonic ?? true).toBe(true);
    for (const sums of [sum, histogram])
      expect(sums?.aggregation_temporality ?? "AGGREGATION_TEMPORALITY_CUMULATIVE").toBe(
        "AGGREGATION_TEMPORALITY_CUMULATIVE",
      );
  }
  // Without those that the process has no value for, for example of garbage that was not collected yet.
  const without = [...types.keys()].filter((name) => !sent.some((metric) => metric.name === name));
  expect(
    without.filter((name) => text.split("\n").some((line) => line.startsWith(`${name ?? ""}{`))),
  ).toEqual([]);
});

test("what happens while a collector is away is in the next export, and the end sends the last", async () => {
  vi.stubEnv("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
  onTestFinished(() => void vi.unstubAllEnvs());
  const collector = await startCollector();
  const { runtime, metrics } = start();
  const exported = exportMetrics(metrics, { exporter: await otlpMetricExporter(collector.url) });
  const accepted = (): readonly (string | undefined)[] =>
    collector
      .exports()
      .map((sent) => samplesOf(sent).find((line) => line.startsWith("troupe_requests_accepted")));
  await say(runtime, "one");
  await exported.flush();
  collector.isAway = true;
  await say(runtime, "two");
  await expect(exported.flush()).rejects.toThrow("metrics were not exported");
  collector.isAway = false;
  await say(runtime, "three");
  await exported.flush();
  await say(runtime, "four");
  await runtime.close();
  await exported.close();

  expect(accepted()).toEqual(
    [1, 3, 4].map((count) => `troupe_requests_accepted_total{agent="clerk"} ${count}`),
  );
  const starts = collector
    .exports()
    .map((sent) => sent.find(({ sum }) => sum)?.sum?.data_points[0]?.start_time_unix_nano);
  expect(new Set(starts).size).toBe(1);
});

test("an export of metrics comes each interval, and says once that the collector is away", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { metrics } = start();
  let code = 1;
  let exports = 0;
  const asked: PromiseWithResolvers<void>[] = [];
  const reported: string[] = [];
  const exported = exportMetrics(metrics, {
    exporter: {
      export(_metrics, done) {
        exports += 1;
        done({ code });
        asked.at(-1)?.resolve();
      },
      async shutdown() {},
    },
    intervalMs: 10_000,
    report: (where) => void reported.push(where),
  });
  for (code of [1, 1, 0]) {
    asked.push(Promise.withResolvers());
    vi.advanceTimersByTime(10_000);
    await asked.at(-1)?.promise;
    await vi.waitFor(() => expect(reported).toEqual(["metrics cannot be exported"]));
    await new Promise(setImmediate);
  }
  await exported.close();
  expect([exports, reported]).toEqual([4, ["metrics cannot be exported"]]);
});

function withSortedLabels(line: string): string {
  return line.replace(/\{(.*)\}/, (_, labels: string) => {
    const each = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, name, value]) => `${name ?? ""}="${(value ?? "").replaceAll(/\\(.)/g, "$1")}"`,
    );
    return `{${each.toSorted().join(",")}}`;
  });
}
