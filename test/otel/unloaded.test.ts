/** @module-tag long */
// What is not turned on costs nothing: its modules are not loaded.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createProject, main, startProgram } from "../cli/command.ts";

/** Writes the address of each module that a process loads, also those of its threads, to a file. */
const HOOK = `import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) {
  appendFileSync(process.env.LOADED, url + "\\n");
  return next(url, context);
} });
`;

const AGENT = `import { defineAgent } from "troupe";
export const agent = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
`;

/** Serves an agent, which answers a request; returns the modules that were loaded. */
async function serveOnce(env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const cwd = await createProject({ "agents/echo.ts": AGENT });
  mkdirSync(join(cwd, "hooks"));
  const hook = join(cwd, "hooks/loaded.mjs");
  writeFileSync(hook, HOOK);
  const loaded = join(cwd, "loaded");
  const started = startProgram(
    process.execPath,
    ["--import", pathToFileURL(hook).href, main, "serve", "--port", "0"],
    { cwd, env: { LOADED: loaded, ...env } },
  );
  const [url = ""] = await started.match(/http:\/\/127\.0\.0\.1:\d+/);
  const answer = await fetch(`${url}/echo/stream_request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: "hello" }),
  });
  expect(await answer.text()).toContain("success");
  started.kill("SIGTERM");
  expect(await started.exited).toBe(0);
  return readFileSync(loaded, "utf8").trim().split("\n");
}

const TRACING = /@opentelemetry|\/dist\/otel\//;

test("a server without a collector loads nothing of OpenTelemetry", async () => {
  const loaded = await serveOnce();
  // The hook has seen the server and the thread that writes its log.
  expect(loaded.some((url) => url.includes("/dist/node/serve"))).toBe(true);
  expect(loaded.filter((url) => TRACING.test(url))).toEqual([]);
});

test("a server with a collector loads it", async () => {
  const loaded = await serveOnce({ TROUPE_OTLP: "http://127.0.0.1:9" });
  expect(loaded.some((url) => TRACING.test(url))).toBe(true);
});
