import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import { remoteAgent } from "troupe/client";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { start } from "../servers.ts";

test("a file that cannot be stored here ends the call with the cause, and is not fetched again", async () => {
  await using far = await start({ agents: [pdfWriter] });
  let attempts = 0;
  const artifacts = memoryArtifacts();
  const put: typeof artifacts.put = async ({ body }) => {
    attempts += 1;
    for await (const _ of body instanceof Uint8Array ? [body] : body);
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  };
  const remote = remoteAgent(`${far.url}/pdf-writer`, { limits: { unreachableMs: 3_000 } });
  const runtime = createRuntime({ agents: [remote], log: memoryLog(), artifacts: { ...artifacts, put } });
  const events = await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Moon: it is far" });
  await runtime.close();

  expect(events.at(-1)).toMatchObject({
    finish_reason: "error",
    error: { message: expect.stringMatching(/^a file of agent pdf-writer could not be stored: /) as string },
  });
  expect(attempts).toBe(1);
});
