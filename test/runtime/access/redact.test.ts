import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Redact, Runtime } from "troupe";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { createApp } from "troupe/http";
import { sqliteLog } from "troupe/storage/sqlite";
import type { RequestId, RunId } from "troupe/protocol";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { temporaryDirectory } from "../../storage/directories.ts";

const CARD = "4111 1111 1111 1111";
const redact: Redact = (text) => text.replaceAll(CARD, "[card]");

const heard: string[] = [];

const desk = defineAgent({
  name: "desk",
  purpose: "Repeats everything.",
  memorySchema: z.object({ last: z.string() }).default({ last: "" }),
  messages: { note: z.object({ text: z.string() }) },
  async chat(text, turn) {
    heard.push(text);
    turn.memory.set({ last: text });
    const { answer } = await turn.waitForInput(z.object({ answer: z.string().describe(`${text}?`) }));
    const note = await turn.receive("note");
    heard.push(answer, note?.text ?? "");
    await turn.text(`${text}, ${answer}`);
  },
});

async function start(log: EventLog = memoryLog(), given: Redact = redact): Promise<Runtime> {
  const runtime = createRuntime({ agents: [desk], log, redact: given });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/** The files of a directory that have a text. */
function findIn(directory: string, text: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(directory, name);
    return statSync(path).isFile() && readFileSync(path, "latin1").includes(text);
  });
}

test("what is taken out of inputs, answers, messages and metadata is in no file, and no agent hears it", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  const runtime = await start(log);
  const created = await runtime.createRun("desk", {
    input: `card ${CARD}`,
    metadata: { deep: [{ card: CARD }], amount: 3 },
  });
  const request = {
    type: "ChatRequest",
    input: `pay with ${CARD}`,
    run_id: created,
    request_id: "pay-1" as RequestId,
    request_metadata: { card: CARD },
  } as const;
  const asked = await runtime.process("desk", request);
  await runtime.acknowledgement(asked, { until: "completed", timeoutMs: 60_000 });
  // A request that is sent again is the same one.
  expect(await runtime.process("desk", request)).toMatchObject({ replayed: true });
  await runtime.process("desk", {
    type: "ResumeWithInput",
    request_id: "pay-1",
    request_keys: { answer: `yes, ${CARD}` },
  });
  await runtime.process("desk", { type: "Message", name: "note", body: { text: CARD }, run_id: created });
  await expect.poll(async () => (await runtime.status("pay-1")).status).toBe("completed");

  expect(heard.slice(-3)).toEqual(["pay with [card]", "yes, [card]", "[card]"]);
  expect((await runtime.run(created)).metadata).toEqual({ deep: [{ card: "[card]" }], amount: 3 });
  await runtime.close();
  await log.close();
  expect(findIn(directory, CARD)).toEqual([]);
  expect(findIn(directory, "[card]")).not.toEqual([]);
});

test("an answer from a link is redacted too", async () => {
  const runtime = await start();
  const app = createApp(runtime);
  const asked = await runtime.process("desk", { type: "ChatRequest", input: "pay" });
  await runtime.acknowledgement(asked, { until: "completed", timeoutMs: 60_000 });
  const link = await runtime.answerLinks.create(asked.requestId);
  const form = new URLSearchParams({ answer: CARD });
  expect((await app.request(link, { method: "POST", body: form })).status).toBe(200);
  const { events } = await runtime.read(
    { kind: "run", runId: asked.runId as RunId, agent: "desk" },
    { after: 0, filter: { types: ["ResumeWithInput"] } },
  );
  expect(events.join()).toContain('"answer":"[card]"');
});

test.each<[string, Redact]>([
  [
    "throws",
    (text) => {
      throw new Error(text);
    },
  ],
  ["returns no text", () => undefined as unknown as string],
])("a request is not accepted if the function %s, and the error has nothing of it", async (_, broken) => {
  const runtime = await start(memoryLog(), broken);
  const app = createApp(runtime);
  const answer = await app.request("/desk/process", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: CARD }),
  });
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain(CARD);
  expect((await runtime.runs({ limit: 1 })).runs).toEqual([]);
});
