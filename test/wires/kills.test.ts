/** @module-tag long */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Client } from "../adapters/aip/peers/client.ts";
import { ServerProcess } from "../flows/server.ts";
import type { Addresses } from "./serve-wires.ts";
import { eventsOf, getText, post, quest } from "./wires.ts";

// The wires with a kill test of their own are in their folders: A2A, ACP, AG-UI, AI SDK UI, MCP and OpenAI.

const PROGRAM = fileURLToPath(new URL("server-program.ts", import.meta.url));
const ASK = "3 1000";
const WHOLE = "1\n2\n3\n";

/** A server that can be killed. */
async function start(): Promise<{
  readonly at: Addresses;
  readonly child: ServerProcess;
  restart(): Promise<Addresses>;
}> {
  const child = await ServerProcess.create(PROGRAM);
  return {
    at: toAddresses(await child.start()),
    child,
    restart: async () => toAddresses(await child.restart()),
  };
}

function toAddresses(line: string): Addresses {
  const [url = "", aip = ""] = line.split(" ");
  return { url, aip };
}

/** Reads a stream until it breaks. */
function follow(answer: Response): { seen(): string; readonly broken: Promise<void> } {
  let seen = "";
  const reading = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of answer.body ?? [])
      seen += decoder.decode(bytes as Uint8Array, { stream: true });
  };
  return { seen: () => seen, broken: reading().catch(() => {}) };
}

interface Frame {
  readonly id: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The whole frames of a stream. */
function framesOf(text: string): readonly Frame[] {
  return [...text.matchAll(/^id: (\d+)\ndata: (.*)\n\n/gm)].map(([, id, data = "{}"]) => ({
    id: Number(id),
    data: JSON.parse(data) as Frame["data"],
  }));
}

const isIncreasing = (frames: readonly Frame[]): boolean =>
  frames.every(({ id }, index) => index === 0 || id >= (frames[index - 1]?.id ?? 0));

const json = { "content-type": "application/json" };

test("AgentScope: a reader of a killed server goes on behind its last frame and has everything once", async () => {
  const { at, child, restart } = await start();
  await using _ = child;
  const session_id = randomUUID();
  const input = [{ role: "user", content: [{ type: "text", text: ASK }] }];
  const path = "/agentscope/ticker/process";
  const body = JSON.stringify({ input, session_id });
  const { seen, broken } = follow(await fetch(at.url + path, { method: "POST", headers: json, body }));
  await expect.poll(seen, { timeout: 20_000 }).toContain('"text":"1\\n"');
  const { url } = await restart();
  await broken;
  const before = framesOf(seen());
  const headers = { "last-event-id": String(before.at(-1)?.id) };
  const rest = await fetch(`${url}${path}/sessions/${session_id}/stream`, { headers });
  const frames = [...before, ...framesOf(await rest.text())];
  expect(isIncreasing(frames)).toBe(true);
  const deltas = frames.flatMap(({ data }) => (data["delta"] === true ? [data["text"]] : []));
  expect(deltas.join("")).toBe(WHOLE);
  expect(frames.at(-1)?.data).toMatchObject({ object: "response", status: "completed" });
});

test("the agentic dialect: a reader of a killed server goes on behind its last frame and has everything once", async () => {
  const { at, child, restart } = await start();
  await using _ = child;
  const { request_id: id } = await post<{ readonly request_id: string }>(`${at.url}/agentic/ticker/process`, {
    prompt: ASK,
  });
  const path = `/agentic/ticker/getevents?request_id=${id}&stream=true`;
  const { seen, broken } = follow(await fetch(at.url + path));
  await expect.poll(seen, { timeout: 20_000 }).toContain('"content":"1\\n"');
  const { url } = await restart();
  await broken;
  const before = framesOf(seen());
  const rest = await fetch(url + path, { headers: { "last-event-id": String(before.at(-1)?.id) } });
  const frames = [...before, ...framesOf(await rest.text())];
  expect(isIncreasing(frames)).toBe(true);
  const said = frames.flatMap(({ data }) =>
    data["type"] === "chat_output" ? [(data["payload"] as { readonly content: string }).content] : [],
  );
  expect(said.join("")).toBe(WHOLE);
  expect(frames.at(-1)?.data).toMatchObject({ type: "turn_end" });
});

test("classic: the step of a killed server is read when it has settled, and the same step joins it", async () => {
  const { at, child, restart } = await start();
  await using _ = child;
  const path = "/ticker/ap/v1/agent/tasks";
  const { task_id: task } = await post<{ readonly task_id: string }>(at.url + path, { input: ASK });
  const lost = post(`${at.url}${path}/${task}/steps`, {}).catch((thrown: unknown) => thrown);
  const said = async (): Promise<string> => JSON.stringify(await eventsOf(at, task));
  await expect.poll(said, { timeout: 20_000 }).toContain('"content":"1\\n"');
  const { url } = await restart();
  expect(await lost).toBeInstanceOf(Error);
  const joined = await post<{ readonly output: string }>(`${url}${path}/${task}/steps`, {});
  expect(joined.output).toBe(WHOLE);
  const { steps } = JSON.parse(await getText(`${url}${path}/${task}/steps`)) as {
    readonly steps: readonly { readonly output: string; readonly is_last: boolean }[];
  };
  expect(steps).toEqual([expect.objectContaining({ output: WHOLE, is_last: true })]);
});

test("AIP: a quest without content in a new session tells how the turn of a killed server stands", async () => {
  const { at, child, restart } = await start();
  await using _ = child;
  const runId = randomUUID();
  using client = new Client(at.aip);
  const session = client.session({ receiver_id: "ticker", session_id: runId });
  const messageId = randomUUID();
  session.start(ASK, { message_id: messageId });
  const said = async (): Promise<string> => JSON.stringify(await eventsOf(at, messageId));
  await expect.poll(said, { timeout: 20_000 }).toContain('"content":"1\\n"');
  const after = await restart();
  expect(await session.status).toMatchObject({ code: 14 });
  const { text, status } = await quest(after, { agent: "ticker", runId });
  expect([text, status]).toEqual([WHOLE, "holdResponse FINISH"]);
});
