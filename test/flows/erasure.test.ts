import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Runtime } from "troupe";
import { createApp } from "troupe/http";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { fsSecrets } from "../../src/storage/fs/secrets.ts";
import { sqliteLog } from "../../src/storage/sqlite/index.ts";

const CANARY = "canary-5d1e";

const clerk = defineAgent({
  name: "clerk",
  purpose: "Keeps what it is told everywhere that a run can keep something.",
  memorySchema: z.object({ words: z.array(z.string()) }).default({ words: [] }),
  config: z.object({ word: z.string().optional(), password: z.string().optional() }),

  async chat(text, turn) {
    turn.memory.set({ words: [...turn.memory.get().words, text] });
    await turn.artifact({ name: `${text}.txt`, mimeType: "text/plain", data: text });
    await turn.text(`${text} `.repeat(200));
    return text;
  },

  operations: {
    ask: operation({
      description: "Asks a person.",
      input: z.object({ text: z.string() }),
      output: z.object({ answer: z.string() }),
      async run({ text }, turn) {
        return turn.waitForInput(z.object({ answer: z.string().describe(text) }));
      },
    }),
  },
});

/** How often the text is in each file of a directory that has it. */
function findIn(directory: string, text: string): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const path = join(directory, name);
    if (name.includes(text)) found[`name ${name}`] = 1;
    if (!statSync(path).isFile()) continue;
    const times = readFileSync(path).toString("latin1").split(text).length - 1;
    if (times > 0) found[name] = times;
  }
  return found;
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "erasure-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function start(directory: string): Promise<Runtime> {
  const runtime = createRuntime({ agents: [clerk], log: sqliteLog(directory, { durability: "relaxed" }) });
  await runtime.ready();
  return runtime;
}

async function chat(runtime: Runtime, runId: RunId, input: string): Promise<void> {
  const receipt = await runtime.process("clerk", { type: "ChatRequest", input, run_id: runId });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
}

/** Makes runs, every third one with the text: ended ones, one that waits for a person, and an actor with a key. */
async function fill(runtime: Runtime, text: string): Promise<{ readonly marked: number }> {
  let marked = 0;
  for (let index = 0; index < 12; index += 1) {
    const isMarked = index % 3 === 0;
    if (isMarked) marked += 1;
    const word = isMarked ? text : "plain";
    const metadata = { customer: word, index };
    const key = index >= 9 ? `${word}-${index}` : undefined;
    const runId = await runtime.createRun("clerk", {
      input: word,
      metadata,
      ...(key !== undefined && { key }),
    });
    await runtime.process("clerk", {
      type: "ConfigureRequest",
      run_id: runId,
      args: { word, password: `${word} secret` },
    });
    await chat(runtime, runId, `${word} ${index}`);
    if (index < 6) continue;
    const asked = await runtime.process("clerk", {
      type: "OperationRequest",
      operation: "ask",
      input: { text: word },
      run_id: runId,
      request_id: `ask-${index}` as RequestId,
    });
    await runtime.acknowledgement(asked, { until: "completed", timeoutMs: 60_000 });
  }
  return { marked };
}

test("what is erased by its metadata is in no file any more, also if its turn waited; the others go on", async () => {
  const directory = temporaryDirectory();
  const runtime = await start(directory);
  const { marked } = await fill(runtime, CANARY);
  expect(Object.keys(findIn(directory, CANARY)).length).toBeGreaterThan(2);

  expect(await runtime.erase({ metadata: { customer: CANARY } })).toBe(marked);
  expect(findIn(directory, CANARY)).toEqual({});
  expect((await runtime.runs({ limit: 100 })).runs).toHaveLength(8);
  expect(await runtime.erase({ metadata: { customer: CANARY } })).toBe(0);

  const answered = await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "ask-7",
    request_keys: { answer: "yes" },
  });
  await runtime.acknowledgement(answered, { until: "acknowledged", timeoutMs: 60_000 });
  await runtime.close();
  expect(findIn(directory, CANARY)).toEqual({});
});

test("an actor is erased by its key, and a new one begins with nothing", async () => {
  const directory = temporaryDirectory();
  const runtime = await start(directory);
  onTestFinished(() => runtime.close());
  const runId = await runtime.createRun("clerk", { key: "anna", input: CANARY });
  await chat(runtime, runId, CANARY);

  expect(await runtime.erase({ agent: "clerk", key: "anna" })).toBe(1);
  expect(findIn(directory, CANARY)).toEqual({});
  expect(await runtime.find("clerk", "anna")).toBeUndefined();
  await expect(runtime.run(runId)).rejects.toMatchObject({ code: "gone" });
  const again = await runtime.createRun("clerk", { key: "anna" });
  expect(again).not.toBe(runId);
});

test("an erasure that a crash interrupted goes on at the next start", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const runtime = await start(directory);
  await fill(runtime, CANARY);
  await runtime.close();
  // The process had stored what it was to erase.
  const log = sqliteLog(directory);
  await log.secrets().put({ "erasure/1": JSON.stringify({ metadata: { customer: CANARY } }) });
  await log.close();

  const again = await start(directory);
  onTestFinished(() => again.close());
  await expect.poll(() => findIn(directory, CANARY)).toEqual({});
  expect((await again.runs({ limit: 100 })).runs).toHaveLength(8);
});

test("with an owner go its API keys, the files that it has sent for later, and its entries of the audit trail", async () => {
  const directory = temporaryDirectory();
  const secrets = fsSecrets(join(directory, "secrets.json"));
  await secrets.put({
    "auth/key/1": JSON.stringify({ name: CANARY, owner: "acme" }),
    "auth/used/1": CANARY,
    "auth/key/2": JSON.stringify({ name: "other", owner: "bolt" }),
  });
  const runtime = await start(directory);
  onTestFinished(() => runtime.close());
  const [ann, bob] = ["acme", "bolt"].map((owner) =>
    runtime.as({ id: `of-${owner}`, owner, roles: ["user"] }),
  );
  const send = (own: Runtime | undefined, text: string) =>
    own?.upload({
      name: CANARY,
      mimeType: "text/plain",
      body: ReadableStream.from([Buffer.from(text)]),
      limitBytes: 100,
    });
  await send(ann, CANARY);
  const kept = await send(bob, "kept");
  await ann?.createRun("clerk", { input: CANARY });
  await bob?.createRun("clerk", { input: "other" });
  const root = runtime.as({ id: "root", owner: "acme", roles: ["admin"] });

  expect(await root.erase({ owner: "acme" })).toBe(1);
  // The name of the kept file, which is no one's secret here.
  expect(Object.keys(findIn(directory, CANARY))).toEqual([`artifacts/${kept?.artifactId}.json`]);
  expect(
    (await fsSecrets(join(directory, "secrets.json")).names()).filter((name) => name.startsWith("auth/key")),
  ).toEqual(["auth/key/2"]);
  expect((await runtime.audit.list({ limit: 100 })).entries).toMatchObject([
    { action: "erase", by: { id: "root" }, owner: "acme", detail: "owner acme" },
    { action: "create", by: { id: "of-bolt" } },
  ]);
  expect((await bob?.artifact(kept?.artifactId ?? ""))?.info.name).toBe(CANARY);
});

test("an erasure ends with the process, and goes on at the next start", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const runtime = await start(directory);
  await fill(runtime, CANARY);
  const erasing = runtime.erase({ metadata: { customer: CANARY } }).catch(() => 0);
  await expect.poll(async () => (await runtime.runs({ limit: 100 })).runs.length).toBeLessThan(12);
  await runtime.close();
  await erasing;

  const again = await start(directory);
  onTestFinished(() => again.close());
  await expect.poll(() => findIn(directory, CANARY)).toEqual({});
});

test("an erasure of everything by mistake is refused", async () => {
  const runtime = await start(temporaryDirectory());
  onTestFinished(() => runtime.close());
  const code = "invalid_request";
  await expect(runtime.erase({})).rejects.toMatchObject({ code });
  await expect(runtime.erase({ agent: "clerk" })).rejects.toMatchObject({ code });
  await expect(runtime.erase({ key: "anna" })).rejects.toMatchObject({ code });
  await expect(runtime.erase({ metadata: {} })).rejects.toMatchObject({ code });
  await runtime.createRun("clerk", { metadata: { customer: "other" } });
  // Each object of JavaScript inherits this name, and the run was not created with it.
  expect(await runtime.erase({ metadata: { toString: null } })).toBe(0);
});

test("an admin erases over HTTP; others may not, and a misspelled field erases nothing", async () => {
  const runtime = await start(temporaryDirectory());
  onTestFinished(() => runtime.close());
  const runId = await runtime.createRun("clerk", { metadata: { customer: CANARY } });
  await runtime.createRun("clerk", { metadata: { customer: "other" } });
  const app = createApp(runtime, {
    authenticate: ({ headers }) => ({
      id: "ada",
      owner: "default",
      roles: [headers.get("x-role") ?? "user"],
    }),
  });
  const erase = async (body: unknown, role = "admin"): Promise<Response> =>
    app.request("http://localhost/erase", {
      method: "POST",
      headers: { "content-type": "application/json", "x-role": role },
      body: JSON.stringify(body),
    });

  expect((await erase({ run_id: runId }, "operator")).status).toBe(403);
  const statuses: number[] = [];
  for (const body of [
    {},
    [],
    { owner: "" },
    { agent: "clerk" },
    { run: runId },
    { agent: "clerk", metdata: {} },
  ]) {
    statuses.push((await erase(body)).status);
  }
  expect(new Set(statuses)).toEqual(new Set([400]));
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(2);

  const answer = await erase({ run_id: runId });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ runs: 1 });
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
});
