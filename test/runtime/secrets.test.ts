import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import { expect, test } from "vitest";
import type { Batch } from "../../src/ports/event-log.ts";
import { fsSecrets } from "../../src/storage/fs/secrets.ts";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { watchedLog } from "./watched-log.ts";

const reader = defineAgent({
  name: "reader",
  purpose: "Says how it is configured.",
  chat: (_input, turn) => JSON.stringify(turn.config),
});

test("a secret of a configuration reaches the agent and never the log", async () => {
  const appended: Batch[] = [];
  const runtime = createRuntime({
    agents: [
      defineAgent({
        name: "checker",
        purpose: "Says whether it knows the key.",
        chat: (_input, turn) => {
          const { api } = turn.config as { readonly api: { readonly apiKey: string } };
          return String(api.apiKey === "canary-1");
        },
      }),
    ],
    log: watchedLog({ append: (batch) => appended.push(batch) }),
  });

  const configured = await runtime.process("checker", {
    type: "ConfigureRequest",
    args: { api: { apiKey: "canary-1", url: "http://localhost" } },
  });
  const receipt = await runtime.process("checker", { type: "ChatRequest", input: "?" });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 5_000 });

  expect(JSON.parse(end ?? "")).toMatchObject({ finish_reason: "success", result: "true" });
  expect(JSON.stringify(appended)).not.toContain("canary-1");
  expect(configured.event).not.toContain("canary-1");
  await runtime.close();
});

test("a run's own configuration goes before that of its agent", async () => {
  const runtime = createRuntime({ agents: [reader] });
  await runtime.process("reader", { type: "ConfigureRequest", args: { a: 1, token: "x" } });
  const first = await runtime.process("reader", { type: "ChatRequest", input: "?" });
  await runtime.acknowledgement(first, { until: "completed", timeoutMs: 5_000 });
  const runId = first.runId ?? undefined;
  if (runId === undefined) throw new Error("a turn has a run");

  await runtime.process("reader", { type: "ConfigureRequest", run_id: runId, args: { a: 2 } });
  const second = await runtime.process("reader", { type: "ChatRequest", input: "?", run_id: runId });
  const end = await runtime.acknowledgement(second, { until: "completed", timeoutMs: 5_000 });

  const { result } = JSON.parse(end ?? "") as { readonly result: string };
  expect(JSON.parse(result)).toEqual({ a: 2, token: "x" });
  await runtime.close();
});

test("secrets whose keys have dots are told from those further down", async () => {
  const runtime = createRuntime({ agents: [reader] });
  const args = { a: { token: 1, "b.token": 2, "b~1token": 3 }, "a.token": 4, "a.b": { token: 5 } };
  await runtime.process("reader", { type: "ConfigureRequest", args });
  const receipt = await runtime.process("reader", { type: "ChatRequest", input: "?" });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 5_000 });

  const { result } = JSON.parse(end ?? "") as { readonly result: string };
  expect(JSON.parse(result)).toEqual(args);
  await runtime.close();
});

test("a client cannot refer to a secret that somebody else has given", async () => {
  const runtime = createRuntime({ agents: [reader] });
  const args = { mine: { $secret: "config-reader.token" } };
  await expect(runtime.process("reader", { type: "ConfigureRequest", args })).rejects.toMatchObject({
    code: "unprocessable",
  });
  await runtime.close();
});

test.each([
  ["memory", () => memorySecrets()],
  ["a file", () => fsSecrets(join(mkdtempSync(join(tmpdir(), "secrets-")), "secrets.json"))],
])("secrets in %s are found by name until they are removed", async (_name, open) => {
  const secrets = open();
  await secrets.put({ "run_1.token": "a", "run_2.token": "b" });
  expect(secrets.get("run_1.token")).toBe("a");
  await secrets.remove("run_1.");
  expect(secrets.get("run_1.token")).toBeUndefined();
  expect(secrets.get("run_2.token")).toBe("b");
});

test("the file of secrets is its owner's alone and survives a restart", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "secrets-")), "secrets.json");
  await fsSecrets(path).put({ name: "value" });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(fsSecrets(path).get("name")).toBe("value");
});
