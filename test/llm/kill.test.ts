/** @module-tag long */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType } from "../agents/events.ts";
import { ServerProcess } from "../flows/server.ts";

const PROGRAM = fileURLToPath(new URL("killable-server.ts", import.meta.url));

test("a server killed three times in a model's loop requests nothing again that is in the log, and charges once", async () => {
  await using server = await ServerProcess.create(PROGRAM);
  const noted = async (file: string): Promise<readonly string[]> =>
    (await readFile(join(server.directory, file), "utf8")).trim().split("\n");

  // Killed after the tool has charged and before its result.
  let url = await server.start();
  await post(url, { type: "ChatRequest", input: "charge 7", request_id: "r1" });
  const first = await follow(url, ({ type }) => type === "ToolTextOutput");
  url = await server.restart();

  // Killed after the model has started its second answer.
  const second = await follow(url, ({ type }) => type === "TextOutput", first.length);
  expect(ofType(second, "ToolError")).toMatchObject([
    { content: "charge was interrupted; whether it took effect is unknown" },
  ]);
  url = await server.restart();

  // Killed while it waits for a human.
  await follow(url, ({ type }) => type === "WaitForInput", first.length + second.length);
  url = await server.restart();
  await post(url, { type: "ResumeWithInput", request_id: "r1", request_keys: { approved: true } });
  await follow(url, ({ type }) => type === "RequestCompleted");

  expect(await noted("lives")).toHaveLength(4);
  expect(await noted("charged")).toEqual(["7"]);
  // The second answer was incomplete when it was cut; nothing else is requested twice.
  expect(await noted("asked")).toEqual(["1", "2", "2", "3"]);
  const events = await history(url);
  expect(events.slice(0, first.length + second.length)).toEqual([...first, ...second]);
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({
    finish_reason: "success",
    result: "Let me see. It may have been charged.\n\nSo be it.",
  });
});

async function post(url: string, request: object): Promise<void> {
  const response = await fetch(`${url}/clerk/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  expect(response.status).toBe(202);
}

async function history(url: string): Promise<readonly Event[]> {
  const response = await fetch(`${url}/getevents/r1?since=0`);
  return (await response.json()) as readonly Event[];
}

/** Reads the events of the request after a position, up to the first of a type. */
async function follow(url: string, isLast: (event: Event) => boolean, after = 0): Promise<readonly Event[]> {
  const response = await fetch(`${url}/getevents/r1?stream=true&follow=true&since=${after}`);
  const events: Event[] = [];
  let rest = "";
  for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((line) => line.startsWith("data: "))) {
      const event = JSON.parse(line.slice("data: ".length)) as Event;
      events.push(event);
      if (isLast(event)) return events;
    }
  }
  throw new Error(`the stream ended after ${JSON.stringify(events.at(-1))}`);
}
