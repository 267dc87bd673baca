import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import type { RunId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import type { Batch } from "../../../src/ports/log-batch.ts";
import type { JsonObject } from "../../../src/protocol/json.ts";
import type { SecretStore } from "../../../src/ports/secret-store.ts";
import { fsSecrets } from "../../../src/storage/fs/secrets.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { TestHost } from "../test-host.ts";
import { watchedLog } from "../watched-log.ts";

/** The values in a store, sorted. */
async function valuesIn(secrets: SecretStore): Promise<readonly string[]> {
  const values = await Promise.all((await secrets.names()).map((name) => secrets.get(name)));
  return values.map((value) => value ?? "").toSorted();
}

/** Lets the reader report its configuration. */
async function ask(
  runtime: Runtime,
  run_id?: RunId,
): Promise<{ readonly runId: RunId; readonly endId: number; readonly config: unknown }> {
  const events = await collect(runtime, "reader", {
    type: "ChatRequest",
    input: "?",
    ...(run_id && { run_id }),
  });
  const end = events.at(-1);
  if (end?.type !== "RequestCompleted") throw new Error("the reader does not answer");
  return { runId: end.run_id, endId: end.id, config: JSON.parse(end.result ?? "") };
}

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
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });

  expect(JSON.parse(end ?? "")).toMatchObject({ finish_reason: "success", result: "true" });
  expect(JSON.stringify(appended)).not.toContain("canary-1");
  expect(configured.event).not.toContain("canary-1");
  await runtime.close();
});

test("a run's own configuration overrides that of its agent", async () => {
  const runtime = createRuntime({ agents: [reader] });
  await runtime.process("reader", { type: "ConfigureRequest", args: { a: 1, token: "x" } });
  const first = await runtime.process("reader", { type: "ChatRequest", input: "?" });
  await runtime.acknowledgement(first, { until: "completed", timeoutMs: 60_000 });
  const runId = first.runId ?? undefined;
  if (runId === undefined) throw new Error("a turn has a run");

  await runtime.process("reader", { type: "ConfigureRequest", run_id: runId, args: { a: 2 } });
  const second = await runtime.process("reader", { type: "ChatRequest", input: "?", run_id: runId });
  const end = await runtime.acknowledgement(second, { until: "completed", timeoutMs: 60_000 });

  const { result } = JSON.parse(end ?? "") as { readonly result: string };
  expect(JSON.parse(result)).toEqual({ a: 2, token: "x" });
  await runtime.close();
});

test("secrets under keys with dots are distinguished from nested ones", async () => {
  const runtime = createRuntime({ agents: [reader] });
  const args = { a: { token: 1, "b.token": 2, "b~1token": 3 }, "a.token": 4, "a.b": { token: 5 } };
  await runtime.process("reader", { type: "ConfigureRequest", args });
  const receipt = await runtime.process("reader", { type: "ChatRequest", input: "?" });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });

  const { result } = JSON.parse(end ?? "") as { readonly result: string };
  expect(JSON.parse(result)).toEqual(args);
  await runtime.close();
});

const CANARY = "canary-7";

const SECRET_NAMES = `
  secret clientSecret token max_token password passwd pwd DB_PWD smtp_pass passphrase api_key apiKey APIKEY x-api-key
  openai_key openaiKey key keys aws_access_key_id private_key signingKey credentials auth basicAuth auth_header
  Authorization authorisation oauth bearer jwt session_cookie dsn SENTRY_DSN connection_string connectionString conn_str
  AzureConnectionString`;

test.each(SECRET_NAMES.trim().split(/\s+/))("a value under the name %s is a secret", async (name) => {
  expect(await logOf({ [name]: CANARY })).not.toContain(CANARY);
});

test.each([
  `https://ada:${CANARY}@example.test/path`,
  `https://${CANARY}@example.test`,
  `postgres://app:${CANARY}@db:5432/main?sslmode=require`,
  `redis://:${CANARY}@cache`,
  `see https://a.test and amqp://u:${CANARY}@b.test/`,
  `https://example.test/hook?room=1&token=${CANARY}`,
  `https://example.test/?api_key=${CANARY}`,
  `Server=db;User Id=app;Password=${CANARY};`,
  `password=${CANARY}`,
  `Bearer ${CANARY}`,
])("the value %j is a secret under any name", async (value) => {
  expect(await logOf({ place: value, list: [value], deep: { place: value } })).not.toContain(CANARY);
});

test.each([
  { author: "ada", authority: "b", keyboard: "c", passenger: "d", compass_mode: "e", tone: "f" },
  { url: "https://example.test:8443/a?b=c@d", mail: "ada@example.test", text: "a: b = c; d" },
])("%j contains no secrets", async (args) => {
  const log = await logOf(args);
  for (const value of Object.values(args)) expect(log).toContain(value);
});

test.each(["password", "://a:", "?a", "Bearer ", ";", "key=", "a&", " ", "@", "="])(
  "a long value that repeats %j is searched in linear time",
  async (part) => {
    // Quadratic time would exceed the time limit of the test.
    expect(await logOf({ a: part.repeat(100_000 / part.length) })).not.toBe("[]");
  },
);

/** The log's configuration, after the agent received it unchanged. */
async function logOf(args: JsonObject): Promise<string> {
  const appended: Batch[] = [];
  const runtime = createRuntime({
    agents: [reader],
    log: watchedLog({ append: (batch) => appended.push(batch) }),
  });
  await runtime.process("reader", { type: "ConfigureRequest", args });
  const logged = JSON.stringify(appended);
  const receipt = await runtime.process("reader", { type: "ChatRequest", input: "?" });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  expect(JSON.parse((JSON.parse(end ?? "") as { readonly result: string }).result)).toEqual(args);
  await runtime.close();
  return logged;
}

test("a client cannot refer to a secret of another configuration", async () => {
  const runtime = createRuntime({ agents: [reader] });
  const args = { mine: { $secret: "config-reader.token" } };
  await expect(runtime.process("reader", { type: "ConfigureRequest", args })).rejects.toMatchObject({
    code: "unprocessable",
  });
  await runtime.close();
});

test("a fork keeps its secret when its source is removed", async () => {
  const runtime = createRuntime({ agents: [reader] });
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "one" } });
  const source = await ask(runtime);
  await runtime.process("reader", { type: "ConfigureRequest", run_id: source.runId, args: { token: "own" } });
  const fork = await runtime.fork(source.runId, { after: source.endId });
  const { runId, endId } = await ask(runtime, source.runId);
  const later = await runtime.fork(runId, { after: endId });
  await runtime.removeRun(source.runId);

  expect((await ask(runtime, fork)).config).toEqual({ api_key: "one" });
  expect((await ask(runtime, later)).config).toEqual({ api_key: "one", token: "own" });
  await runtime.close();
});

test("a run keeps its secret when its agent is configured again", async () => {
  const secrets = memorySecrets();
  const runtime = createRuntime({ agents: [reader], secrets });
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "one", level: 1 } });
  const older = await ask(runtime);
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "two", level: 2 } });
  const newer = await ask(runtime);

  expect((await ask(runtime, older.runId)).config).toEqual({ api_key: "one", level: 1 });
  expect(newer.config).toEqual({ api_key: "two", level: 2 });
  await runtime.removeRun(older.runId);
  expect(await valuesIn(secrets)).toEqual(['"two"']);
  await runtime.close();
});

test("a secret is removed when no run refers to it", async () => {
  const secrets = memorySecrets();
  const runtime = createRuntime({ agents: [reader], secrets });
  await runtime.process("reader", {
    type: "ConfigureRequest",
    args: { api_key: "one", pin: "kept", token: 1 },
  });
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "two" } });
  expect(await valuesIn(secrets)).toEqual(['"two"', "1"]);
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "three", token: 3 } });
  expect(await valuesIn(secrets)).toEqual(['"three"', "3"]);
  const { runId, endId } = await ask(runtime);
  await runtime.process("reader", { type: "ConfigureRequest", run_id: runId, args: { token: "own" } });
  await runtime.process("reader", { type: "ConfigureRequest", run_id: runId, args: { token: "own again" } });
  const fork = await runtime.fork(runId, { after: endId });
  await runtime.removeRun(runId);
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: null, token: null } });
  expect(await valuesIn(secrets)).toEqual(['"three"', "3"]);
  await runtime.removeRun(fork);
  expect(await valuesIn(secrets)).toEqual([]);
  await runtime.close();
});

test("of configurations that are sent at the same time only the secrets of the last one are kept", async () => {
  const secrets = memorySecrets();
  const runtime = createRuntime({ agents: [reader], secrets });
  const values = ["one", "two", "three", "four"];
  await Promise.all(
    values.map((api_key) => runtime.process("reader", { type: "ConfigureRequest", args: { api_key } })),
  );
  const { config } = await ask(runtime);
  expect(await valuesIn(secrets)).toEqual([JSON.stringify((config as { readonly api_key: string }).api_key)]);
  await runtime.close();
});

test("a start removes the secrets that no run refers to, and no others", async () => {
  const secrets = memorySecrets();
  const log = { ...memoryLog(), close: async () => {} };
  const before = createRuntime({ agents: [reader], log, secrets });
  await before.process("reader", { type: "ConfigureRequest", args: { api_key: "one" } });
  await before.close();
  // A configuration whose values were stored before its process died.
  await secrets.put({ "secret_unknown.api_key": '"two"', "run_removed.api_key": '"three"' });

  const after = createRuntime({ agents: [reader], log, secrets });
  await after.ready();
  expect(await valuesIn(secrets)).toEqual(['"one"']);
  expect((await ask(after)).config).toEqual({ api_key: "one" });
  await after.close();
});

test("a run that starts during a new configuration of its agent keeps its secret", async () => {
  const host = new TestHost({ agents: [reader] });
  const configure = (api_key: string): Promise<unknown> =>
    host.ask("reader", { type: "ConfigureRequest", args: { api_key, pin: "1" } });
  await configure("one");
  host.holdCommits();
  void host.runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "two" } });
  await host.environment.idle();
  // The check of the configuration is committed; the configuration waits, and then the run.
  const created = host.runtime.createRun("reader", {});
  await host.environment.idle();
  await host.releaseCommit();
  expect((await host.log.list({ limit: 10, agent: "reader" })).runs).toEqual([]);
  await host.releaseCommits();

  const run_id = await created;
  const { requestId } = await host.ask("reader", { type: "ChatRequest", input: "?", run_id });
  expect((await host.events(requestId)).at(-1)).toMatchObject({ result: '{"api_key":"one","pin":"1"}' });
});

test("secrets that an agent's calls refer to stay until their run is removed", async () => {
  const secrets = memorySecrets();
  const log = { ...memoryLog(), close: async () => {} };
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks the reader after its caller has answered.",
    uses: { reader },
    async chat(_input, turn) {
      const first = await turn.call(turn.uses.reader, "chat", { input: "" });
      await turn.waitForInput({ more: "More?" });
      return first.output;
    },
  });
  const options = { agents: [asker, reader], log, secrets };
  let runtime = createRuntime(options);
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "one" } });
  const receipt = await runtime.process("asker", { type: "ChatRequest", input: "" });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await runtime.process("reader", { type: "ConfigureRequest", args: { api_key: "two" } });
  await runtime.close();
  runtime = createRuntime(options);
  await runtime.ready();
  expect(await valuesIn(secrets)).toEqual(['"one"', '"two"']);

  await runtime.process("asker", { type: "CancelRequest", request_id: receipt.requestId });
  await runtime.removeRun(receipt.runId as RunId);
  expect(await valuesIn(secrets)).toEqual(['"two"']);
  await runtime.close();
});

test("the secrets file is readable only by its owner and survives a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-secrets-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "secrets.json");
  await fsSecrets(path).put({ name: "value" });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await fsSecrets(path).get("name")).toBe("value");
});

test("a run that leaves memory takes its secrets with it, and reads them again when it is loaded", async () => {
  const host = new TestHost({ agents: [reader], limits: { idleRuns: 0 } });
  const reads: string[] = [];
  const { get } = host.secrets;
  Object.assign(host.secrets, {
    get: (name: string) => {
      reads.push(name);
      return get(name);
    },
  });
  await host.restart();
  const { runId } = await host.ask("reader", { type: "ChatRequest", input: "?" });
  const args = { api_key: "canary-9" };
  await host.ask("reader", { type: "ConfigureRequest", args, run_id: runId as RunId });
  reads.length = 0;
  for (let load = 1; load <= 2; load += 1) {
    const again = {
      type: "ChatRequest",
      input: "?",
      run_id: runId as RunId,
      request_id: `load-${load}`,
    } as const;
    await host.ask("reader", { ...again, request_id: again.request_id });
    expect((await host.events(again.request_id)).at(-1)).toMatchObject({ result: JSON.stringify(args) });
    expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
    expect(reads).toHaveLength(load);
  }
});
