/** @module-tag long */
import { clusterRouter, createRuntime, defineAgent } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import { nodeEnvironment } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { newSchema, openProxy, openSchema } from "./logs.ts";

needsPostgres();

test("the metrics of a node have what it did with others, its commits and what it repeated", async () => {
  const proxy = await openProxy(await postgresUrl());
  const log = await openSchema(newSchema(), { url: proxy.url });
  const environment = nodeEnvironment();
  const transport = {
    url: "memory://one",
    listen: async () => async () => {},
    send: () => Promise.reject(new Error("there is one node")),
  };
  const metrics = createMetrics();
  const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
  const router = clusterRouter({ log, transport, environment });
  const runtime = createRuntime({ agents: [echo], log, router, environment, telemetry: metrics });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const app = createApp(runtime, { metrics });
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await (await app.request("/metrics")).text();
    const lines = text.matchAll(/^(troupe_(?:node|log)_\w+) (\S+)$/gm);
    return new Map(Array.from(lines, ([, name = "", value]) => [name, Number(value)]));
  };

  const before = await read();
  expect([...before.keys()].sort()).toEqual([
    "troupe_log_appends",
    "troupe_log_bytes",
    "troupe_log_commits",
    "troupe_log_connections",
    "troupe_log_connections_busy",
    "troupe_log_retries",
    "troupe_log_statements_waiting",
    "troupe_node_beat_age_seconds",
    "troupe_node_fenced",
    "troupe_node_forwarded",
    "troupe_node_redirected",
    "troupe_node_repeated",
    "troupe_node_taken_over",
  ]);
  expect(before.get("troupe_log_commits")).toBe(0);
  expect(before.get("troupe_node_beat_age_seconds")).toBeLessThan(60);

  proxy.loseAnswersTo("append_2");
  const text = "a text of some length";
  const receipt = await runtime.process("echo", { type: "ChatRequest", input: text });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  const after = await read();
  const value = (name: string): number => after.get(name) ?? NaN;
  expect(value("troupe_log_commits")).toBeGreaterThan(0);
  expect(value("troupe_log_appends")).toBeGreaterThanOrEqual(value("troupe_log_commits"));
  expect(value("troupe_log_bytes")).toBeGreaterThan(2 * text.length);
  expect(value("troupe_log_retries")).toBe((before.get("troupe_log_retries") ?? 0) + 1);
});
