import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import type { RequestId, RunId } from "../../../src/protocol/ids.ts";
import { World } from "../world.ts";

async function* bytes(): AsyncGenerator<Uint8Array, void> {
  yield new TextEncoder().encode("content");
}

test("a file belongs to a run once its request is in the log, and to no run before", async () => {
  const world = new World({ agents: [echo] });
  const { artifactId } = await world.runtime.upload({
    name: "notes.txt",
    mimeType: "text/plain",
    limitBytes: 100,
    body: bytes(),
  });
  const request = {
    type: "ChatRequest",
    input: "look",
    attachments: [artifactId],
    request_id: "req_once" as RequestId,
  } as const;
  world.plan({ kind: "crash", written: false });
  world.runtime.process("echo", request).catch(() => {});
  await world.environment.idle();
  await world.restart();
  expect((await world.artifacts.get(artifactId))?.runIds).toEqual([]);

  const { runId } = await world.ask("echo", request);
  expect((await world.artifacts.get(artifactId))?.runIds).toEqual([runId]);
});

test("a turn does not end before its file belongs to the run, so a crash in between loses no file", async () => {
  const world = new World({ agents: [echo] });
  const { artifactId } = await world.runtime.upload({
    name: "notes.txt",
    mimeType: "text/plain",
    limitBytes: 100,
    body: bytes(),
  });
  const { attach } = world.artifacts;
  const attachedTo: RunId[] = [];
  world.artifacts.attach = (_, runId) => {
    attachedTo.push(runId);
    return new Promise(() => {});
  };
  const request = { type: "ChatRequest", input: "look", attachments: [artifactId] } as const;
  world.runtime.process("echo", request).catch(() => {});
  await world.environment.idle();
  const [runId = ""] = attachedTo;

  world.artifacts.attach = attach;
  await world.restart();
  expect((await world.artifacts.get(artifactId))?.runIds).toEqual([runId]);
  expect((await world.events(runId)).at(-1)).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "success",
  });
});
