import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { Editor } from "../adapters/acp/editor.ts";
import { connectNew, textOf } from "../adapters/mcp/clients.ts";
import { createClerk } from "../agents/clerk.ts";
import { getText, post } from "./wires.ts";

async function start(
  directory: string,
  agent: Agent,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const runtime = createRuntime({ agents: [agent], log: sqliteLog(directory) });
  await runtime.ready();
  const server = await serve(runtime, { drain: false, adapters: await openWires(WIRES) });
  return {
    url: server.url,
    async close() {
      await server.close();
      await runtime.close();
    },
  };
}

// The other wires are in wires.test.ts.
test("a turn that is held works on over AI SDK UI, MCP, OpenAI and ACP, takes an answer, and ends when its code is back", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-held-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const clerk = createClerk();
  const before = await start(directory, clerk.agent);
  const asked = await post<{ readonly run_id: string; readonly request_id: string; readonly id: number }>(
    `${before.url}/clerk/process?wait=completed`,
    { type: "ChatRequest", input: "go" },
  );
  const { run_id: runId, request_id } = asked;
  await before.close();

  clerk.isChanged = true;
  const { url, close } = await start(directory, clerk.agent);
  onTestFinished(close);
  const isHeld = async (): Promise<string> => getText(`${url}/request/${request_id}`);
  await post(`${url}/clerk/process`, {
    type: "ResumeWithInput",
    request_id,
    wait_id: asked.id,
    request_keys: { name: "Ada" },
  });
  await expect.poll(isHeld).toContain('"status":"held"');
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  // It is an answer to the question that is still open.
  const response = await openai.responses.create({
    model: "clerk",
    conversation: runId,
    input: "blue",
    background: true,
  });
  await expect.poll(isHeld).not.toContain("request_keys");
  expect(await isHeld()).toContain('"status":"held"');
  expect(await openai.responses.retrieve(response.id)).toMatchObject({ status: "in_progress", error: null });

  const chat = await fetch(`${url}/ui/clerk/${runId}/stream`);
  expect(chat.status).toBe(200);
  const { client } = await connectNew(url);
  const answer = client.callTool({ name: "answer", arguments: { request_id } });
  await using editor = await Editor.here({ url, agent: "clerk" });
  await editor.load(runId);
  expect(await isHeld()).toContain('"status":"held"');

  clerk.isChanged = false;
  await post(`${url}/runs/${runId}/retry`, {});
  expect(textOf(await answer)).toBe("Ada likes blue.");
  const shown = await chat.text();
  expect(shown).toContain("Ada likes blue.");
  expect(shown).not.toContain('"type":"error"');
  await expect.poll(() => editor.said()).toContain("Ada likes blue.");
  await expect
    .poll(async () => (await openai.responses.retrieve(response.id)).output_text)
    .toBe("Ada likes blue.");
});
