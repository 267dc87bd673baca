/** @module-tag long */
import { execFile } from "node:child_process";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { chat, createProject, startCommand, startProgram } from "../../cli/command.ts";
import { findFreePort } from "../../machine/free-port.ts";
import { skipWithoutPrometheus } from "../../machine/skip-without.ts";

const run = promisify(execFile);
const deploy = resolve(import.meta.dirname, "../../../deploy");
const hasPrometheus = await run("promtool", ["--version"]).then(
  () => true,
  () => false,
);

/** An agent that calls a priced model and a tool, and asks a person. */
const DESK = `
import { defineTool } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { z } from "zod";

const search = defineTool({
  name: "search",
  description: "Finds a page.",
  input: z.object({ page: z.string() }),
  run: ({ page }) => page,
});

const script = ({ messages }) =>
  messages.some(({ role }) => role === "tool")
    ? "Here it is."
    : { toolCalls: [{ name: "search", input: { page: "home" } }] };

export const desk = llmAgent({
  name: "desk",
  purpose: "Finds pages.",
  instructions: "Be brief.",
  model: scriptedModel(script, { price: { input: 1000, output: 5000 } }),
  agents: [search],
});
`;

/** Starts a server with the agent, has it used, and returns its address. */
async function startDesk(): Promise<string> {
  const cwd = await createProject({ "agents/desk.mjs": DESK });
  await symlink(join(deploy, "../node_modules/zod"), join(cwd, "node_modules/zod"));
  const server = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(url, "desk", { input: "where is it?" });
  return url;
}

test("promtool finds nothing to say about the metrics, and the alerts ring when they should", async ({
  skip,
}) => {
  if (!hasPrometheus) skipWithoutPrometheus(skip);
  const url = await startDesk();
  const checked = run("promtool", ["check", "metrics"]);
  checked.child.stdin?.end(await (await fetch(`${url}/metrics`)).text());
  expect(await checked).toEqual({ stdout: "", stderr: "" });
  await run("promtool", ["check", "config", "prometheus.yml"], { cwd: join(deploy, "prometheus") });
  await run("promtool", ["test", "rules", "alerts.test.yml"], { cwd: join(deploy, "prometheus") });
});

test("a Prometheus that watches a server has data for each query of the dashboard", async ({ skip }) => {
  if (!hasPrometheus) skipWithoutPrometheus(skip);
  const url = await startDesk();
  const cwd = await createProject({});
  const targets = [new URL(url).host];
  const scrapes = [{ job_name: "troupe", static_configs: [{ targets }] }];
  // JSON is YAML.
  const config = { global: { scrape_interval: "1s" }, scrape_configs: scrapes };
  await writeFile(join(cwd, "prometheus.yml"), JSON.stringify(config));
  const port = await findFreePort();
  const prometheus = startProgram(
    "prometheus",
    ["--config.file=prometheus.yml", "--storage.tsdb.path=data", `--web.listen-address=127.0.0.1:${port}`],
    { cwd },
  );
  onTestFinished(() => prometheus.kill());
  await prometheus.match(/Server is ready/);

  const ask = async (query: string): Promise<readonly unknown[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
    return ((await answer.json()) as { data: { result: readonly unknown[] } }).data.result;
  };
  // A rate needs two scrapes, and something that happens between them.
  await expect.poll(() => ask("troupe_turn_seconds_count"), { timeout: 20_000 }).not.toEqual([]);
  await chat(url, "desk", { input: "and now?" });
  await expect
    .poll(() => ask("increase(troupe_turn_seconds_count[1m]) > 0"), { timeout: 20_000 })
    .not.toEqual([]);

  const dashboard = JSON.parse(await readFile(join(deploy, "grafana/troupe.json"), "utf8")) as {
    panels: readonly { title: string; targets: readonly { expr: string }[] }[];
  };
  const without: string[] = [];
  for (const { title, targets: shown } of dashboard.panels)
    for (const { expr } of shown)
      if ((await ask(expr.replaceAll("$__rate_interval", "1m"))).length === 0)
        without.push(`${title}: ${expr}`);
  expect(dashboard.panels.length).toBeGreaterThan(15);
  expect(without).toEqual([]);
});
