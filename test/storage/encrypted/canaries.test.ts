import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineAgent, memoryLog, operation } from "troupe";
import type { Encryption, EventLog, Runtime } from "troupe";
import { postgresLog } from "troupe/postgres";
import type { RequestId, RunId } from "troupe/protocol";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startCommand } from "../../cli/command.ts";
import { databasePlace } from "../../erase/database.ts";
import { postgresUrl } from "../../machine/postgres.ts";
import { runsLong } from "../../machine/long.ts";
import { newDatabase } from "../postgres/databases.ts";
import { temporaryDirectory } from "../directories.ts";

const CANARY = "canary-7b2f";

const clerk = defineAgent({
  name: "clerk",
  purpose: "Keeps what it is told everywhere that a run can keep something.",
  memorySchema: z.array(z.string()).default([]),
  messages: { note: z.string() },
  async chat(text, turn) {
    turn.memory.set([...turn.memory.get(), text]);
    for (let part = 0; part < 40; part += 1) await turn.text(`${text} ${part} `);
    await turn.artifact({ name: `${text}.txt`, mimeType: "text/plain", data: `${text} `.repeat(20_000) });
    const question = z.object({ answer: z.string().describe(`Is it ${text}?`) });
    const { answer } = await turn.waitForInput(question);
    return answer;
  },
  operations: {
    later: operation({ description: "Does nothing.", input: z.object({ text: z.string() }), run: () => {} }),
  },
});

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

/** Acme and bolt have keys of their own; what belongs to others is not encrypted. */
function keysOf(keys: Readonly<Record<string, Uint8Array | readonly Uint8Array[]>>): Encryption {
  return { keyFor: (owner) => keys[owner] };
}

const KEYS = keysOf({ acme: key(1), bolt: key(2) });

function start(log: EventLog, encryption?: Encryption): Runtime {
  const runtime = createRuntime({ agents: [clerk], log, ...(encryption && { encryption }) });
  onTestFinished(() => runtime.close());
  return runtime;
}

function of(runtime: Runtime, owner: string): Runtime {
  return runtime.as({ id: `someone@${owner}`, owner, roles: ["user"] });
}

/** Makes a run that waits for an answer, with the text wherever clients and agents can put one; returns its id. */
async function fill(runtime: Runtime, owner: string, text: string): Promise<RunId> {
  const own = of(runtime, owner);
  const runId = await own.createRun("clerk", { input: text, metadata: { customer: text } });
  const file = await own.upload({
    name: `${text}.csv`,
    mimeType: "text/csv",
    body: (async function* () {
      yield Buffer.from(`${text},1\n`);
    })(),
    limitBytes: 1_000,
  });
  const receipt = await own.process("clerk", {
    type: "ChatRequest",
    input: text,
    run_id: runId,
    attachments: [file.artifactId],
    request_id: `ask-${owner}` as RequestId,
  });
  const hourly = { id: "hourly", operation: "later", input: { text }, every_ms: 3_600_000 };
  await own.schedules.make("clerk", { ...hourly, run_id: runId });
  await own.process("clerk", { type: "Message", name: "note", body: text, run_id: runId });
  await own.acknowledgement(receipt, { until: "completed", timeoutMs: 20_000 });
  return runId;
}

/** Reads everything back, answers the question, and returns what the run has said. */
async function readAndAnswer(runtime: Runtime, owner: string, runId: RunId, text: string): Promise<void> {
  const own = of(runtime, owner);
  expect(await own.run(runId)).toMatchObject({ initial_input: text, metadata: { customer: text } });
  const { runs } = await own.runs({ limit: 10, text });
  expect(runs.map(({ run_id: id }) => id)).toEqual([runId]);
  const { events } = await own.read({ kind: "run", runId, agent: "clerk" }, { after: 0 });
  expect(events.join("\n").split(text).length).toBeGreaterThan(40);
  for (const [index, event] of events.entries()) expect(JSON.parse(event)).toMatchObject({ id: index + 1 });
  // From the middle of the texts as well.
  const middle = await own.read({ kind: "run", runId, agent: "clerk" }, { after: 20, limit: 5 });
  expect(middle.events).toEqual(events.slice(20, 25));
  const { schedules } = await own.schedules.list({ limit: 10 });
  expect(schedules).toMatchObject([{ id: "hourly", input: { text } }]);
  for (const url of events.flatMap((event) => /\/artifacts\/([\w-]+)/.exec(event)?.[1] ?? [])) {
    const { info, body } = await own.artifact(url);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    expect([info.name.startsWith(text), bytes.byteLength]).toEqual([true, info.sizeBytes]);
    expect(bytes.toString().startsWith(text)).toBe(true);
  }
  const answered = await own.process("clerk", {
    type: "ResumeWithInput",
    request_id: `ask-${owner}` as RequestId,
    request_keys: { answer: `it is ${text}` },
  });
  await own.acknowledgement(answered, { until: "acknowledged", timeoutMs: 20_000 });
  const feed = await own.follow({ kind: "run", runId, agent: "clerk" }, { after: events.length });
  const later: string[] = [];
  for await (const page of feed.pages) later.push(...page.events);
  expect(JSON.parse(later.at(-1) ?? "{}")).toMatchObject({
    finish_reason: "success",
    result: `it is ${text}`,
  });
  expect(await own.memory(runId)).toEqual([text]);
}

/** The files of a directory that have a text. */
function filesWith(directory: string, text: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(directory, name);
    return name.includes(text) || (statSync(path).isFile() && readFileSync(path).includes(text));
  });
}

test("what owners have is in no file, also while the log is open, and is read and continued with their keys", async () => {
  const directory = temporaryDirectory();
  const before = start(sqliteLog(directory), KEYS);
  const acme = await fill(before, "acme", `${CANARY}-acme`);
  const bolt = await fill(before, "bolt", `${CANARY}-bolt`);
  expect(filesWith(directory, CANARY)).toEqual([]);
  await before.close();
  expect(filesWith(directory, CANARY)).toEqual([]);

  const after = start(sqliteLog(directory), KEYS);
  await after.ready();
  await readAndAnswer(after, "acme", acme, `${CANARY}-acme`);
  await readAndAnswer(after, "bolt", bolt, `${CANARY}-bolt`);
  expect(await after.erase({ owner: "acme" })).toBeGreaterThan(0);
  expect((await of(after, "bolt").runs({ limit: 10 })).runs).toHaveLength(1);
  await after.close();
  expect(filesWith(directory, CANARY)).toEqual([]);
});

test("memory logs are encrypted too", async () => {
  const runtime = start(memoryLog(), KEYS);
  const run = await fill(runtime, "acme", CANARY);
  await readAndAnswer(runtime, "acme", run, CANARY);
  expect((await of(runtime, "bolt").runs({ limit: 1 })).runs).toEqual([]);
});

test.runIf(runsLong)("what owners have is in no table of a database", async () => {
  await postgresUrl();
  const url = await newDatabase();
  const open = (): Promise<EventLog> => postgresLog({ url, secretsKey: "a key of thirty-two characters .." });
  const before = start(await open(), KEYS);
  await before.ready();
  const run = await fill(before, "acme", CANARY);
  expect(await databasePlace(url).find(CANARY)).toEqual([]);
  await before.close();
  const after = start(await open(), KEYS);
  await after.ready();
  await readAndAnswer(after, "acme", run, CANARY);
  await after.close();
  expect(await databasePlace(url).find(CANARY)).toEqual([]);
});

test("a new key encrypts from then on, and the one before it still decrypts", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const before = start(sqliteLog(directory), keysOf({ acme: key(1) }));
  const run = await fill(before, "acme", CANARY);
  await before.close();
  const both = start(sqliteLog(directory), keysOf({ acme: [key(9), key(1)] }));
  await both.ready();
  await readAndAnswer(both, "acme", run, CANARY);
  const next = await of(both, "acme").createRun("clerk", { input: "with the new key" });
  await both.close();
  // The new one alone reads what it has encrypted.
  const last = start(sqliteLog(directory), keysOf({ acme: key(9) }));
  expect(await last.run(next)).toMatchObject({ initial_input: "with the new key" });
});

test("another key is refused with what is missing, and loses nothing", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const before = start(sqliteLog(directory), KEYS);
  const run = await fill(before, "acme", CANARY);
  await before.close();

  const wrong = start(sqliteLog(directory), keysOf({ acme: key(3), bolt: key(2) }));
  await wrong.ready();
  const reading = of(wrong, "acme").read({ kind: "run", runId: run, agent: "clerk" }, { after: 0 });
  await expect(reading).rejects.toMatchObject({
    code: "unavailable",
    message: "the data of the owner acme is encrypted with another key",
    details: { hint: expect.stringMatching(/this needs [0-9a-f]{8}; put the earlier key behind/) as string },
  });
  const answer = of(wrong, "acme").process("clerk", {
    type: "ResumeWithInput",
    request_id: "ask-acme",
    request_keys: { answer: "yes" },
  });
  await expect(answer).rejects.toMatchObject({ code: "unavailable" });
  await expect(of(wrong, "bolt").createRun("clerk", {})).resolves.toBeDefined();
  await wrong.close();

  const right = start(sqliteLog(directory), KEYS);
  await right.ready();
  await readAndAnswer(right, "acme", run, CANARY);
});

test(
  "what an owner has cannot be read when its key is thrown away, and others go on",
  { tags: "long" },
  async () => {
    const directory = temporaryDirectory();
    const before = start(sqliteLog(directory), KEYS);
    const acme = await fill(before, "acme", CANARY);
    const bolt = await fill(before, "bolt", CANARY);
    await before.close();

    const after = start(sqliteLog(directory), keysOf({ bolt: key(2) }));
    await after.ready();
    const reading = after.read({ kind: "run", runId: acme, agent: "clerk" }, { after: 0 });
    await expect(reading).rejects.toMatchObject({
      code: "unavailable",
      message: "the data of the owner acme cannot be read: it has no key",
    });
    // Lists of operators go on, without what cannot be read.
    const { runs } = await after.runs({ limit: 10 });
    expect(runs.map(({ run_id: id, initial_input: input }) => [id, input])).toEqual(
      expect.arrayContaining([
        [acme, null],
        [bolt, CANARY],
      ]),
    );
    expect((await after.waits({ limit: 10 })).events).toHaveLength(1);
    await readAndAnswer(after, "bolt", bolt, CANARY);
    // Its turn cannot be ended, so its ids stay.
    await expect(after.erase({ owner: "acme" })).rejects.toMatchObject({ code: "unavailable" });
  },
);

test("a log from before is read and continued, and encrypted from then on", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const before = start(sqliteLog(directory));
  const run = await fill(before, "acme", "from before");
  await before.close();
  const after = start(sqliteLog(directory), KEYS);
  await after.ready();
  await readAndAnswer(after, "acme", run, "from before");
  await fill(after, "bolt", CANARY);
  await after.close();
  expect(filesWith(directory, CANARY)).toEqual([]);
});

test("a key that cannot be had stops its owner alone", async () => {
  const runtime = start(memoryLog(), {
    keyFor(owner) {
      if (owner === "acme") throw new Error("the vault does not answer");
      return key(1);
    },
  });
  const refused = of(runtime, "acme").createRun("clerk", { input: CANARY });
  await expect(refused).rejects.toMatchObject({
    code: "unavailable",
    message: "the key of the owner acme cannot be had at present",
  });
  await expect(of(runtime, "bolt").createRun("clerk", { input: CANARY })).resolves.toBeDefined();
});

test("troupe copy moves what is encrypted without its keys", { tags: "long" }, async () => {
  const from = temporaryDirectory();
  const to = join(temporaryDirectory(), "copy");
  const before = start(sqliteLog(from), KEYS);
  const run = await fill(before, "acme", CANARY);
  await before.close();
  const command = startCommand(["copy", "--from", from, "--to", to], { cwd: from });
  expect(await command.exited).toBe(0);
  expect(existsSync(join(to, "log.db"))).toBe(true);
  expect(filesWith(to, CANARY)).toEqual([]);
  const after = start(sqliteLog(to), KEYS);
  await after.ready();
  await readAndAnswer(after, "acme", run, CANARY);
});
