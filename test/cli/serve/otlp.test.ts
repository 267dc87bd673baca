/** @module-tag long */
import { expect, test } from "vitest";
import { samplesOf, startCollector } from "../../otel/collector.ts";
import { agentSaying, chat, createProject, startCommand } from "../command.ts";

const SERVE = ["serve", "--port", "0", "--otlp"];

test("a server sends its traces and metrics to a collector, and the last ones when it stops", async () => {
  const collector = await startCollector();
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand([...SERVE, collector.url], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(url, "speaker");
  command.kill();
  expect(await command.exited).toBe(0);

  expect(samplesOf(collector.exports().at(-1) ?? [])).toContain(
    'troupe_turn_seconds_count{agent="speaker",reason="success"} 1',
  );
  expect(collector.spans().map(({ name }) => name)).toContain("invoke_agent speaker");
});

test("the variables of OpenTelemetry leave out metrics or say how often they are sent", async () => {
  const collector = await startCollector();
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const often = startCommand([...SERVE, collector.url], {
    cwd,
    env: { OTEL_METRIC_EXPORT_INTERVAL: "50", OTEL_TRACES_EXPORTER: "none" },
  });
  await often.match(/http:\/\/127\.0\.0\.1:\d+/);
  await expect.poll(() => collector.exports().length, { timeout: 30_000 }).toBeGreaterThan(2);
  often.kill();
  await often.exited;
  expect(collector.bodies).toEqual([]);

  const before = collector.exports().length;
  const none = startCommand([...SERVE, collector.url], { cwd, env: { OTEL_METRICS_EXPORTER: "none" } });
  await none.match(/http:\/\/127\.0\.0\.1:\d+/);
  none.kill();
  expect(await none.exited).toBe(0);
  expect(collector.exports()).toHaveLength(before);
});
