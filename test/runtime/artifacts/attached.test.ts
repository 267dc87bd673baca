import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import type { RequestId, RunId } from "../../../src/protocol/ids.ts";
import { TestHost } from "../test-host.ts";

async function* bytes(): AsyncGenerator<Uint8Array, void> {
  yield new TextEncoder().encode("content");
}

test("a file belongs to a run once its request is in the log, and to no run before", async () => {
  const host = new TestHost({ agents: [echo] });
  const { artifactId } = await host.runtime.upload({
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
  host.planFault({ kind: "crash", written: false });
  host.runtime.process("echo", request).catch(() => {});
  await host.environment.idle();
  await host.restart();
  expect((await host.artifacts.get(artifactId))?.runIds).toEqual([]);

  const { runId } = await host.ask("echo", request);
  expect((await host.artifacts.get(artifactId))?.runIds).toEqual([runId]);
});

test("a turn does not end before its file belongs to the run, so a crash in between loses no file", async () => {
  const host = new TestHost({ agents: [echo] });
  const { artifactId } = await host.runtime.upload({
    name: "notes.txt",
    mimeType: "text/plain",
    limitBytes: 100,
    body: bytes(),
  });
  const { attach } = host.artifacts;
  const attachedTo: RunId[] = [];
  host.artifacts.attach = (_, runId) => {
    attachedTo.push(runId);
    return new Promise(() => {});
  };
  const request = { type: "ChatRequest", input: "look", attachments: [artifactId] } as const;
  host.runtime.process("echo", request).catch(() => {});
  await host.environment.idle();
  const [runId = ""] = attachedTo;

  host.artifacts.attach = attach;
  await host.restart();
  expect((await host.artifacts.get(artifactId))?.runIds).toEqual([runId]);
  expect((await host.events(runId)).at(-1)).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "success",
  });
});
