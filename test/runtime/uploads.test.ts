import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import type { Runtime } from "../../src/runtime/api.ts";
import type { ArtifactId } from "../../src/protocol/ids.ts";

const HOUR_MS = 3_600_000;
const unknown = { code: "not_found" };

test("a file that nobody attaches within a day is removed, also after a restart", async () => {
  const environment = manualEnvironment();
  const artifacts = memoryArtifacts();
  const kept = { ...artifacts, close: async () => {} };
  const first = createRuntime({ agents: [echo], log: memoryLog(), artifacts: kept, environment });
  const early = await upload(first);
  await environment.advance(20 * HOUR_MS);
  const late = await upload(first);
  await environment.advance(6 * HOUR_MS);

  await expect(first.artifact(early)).rejects.toMatchObject(unknown);
  expect((await first.artifact(late)).info.name).toBe("notes.txt");
  await first.close();
  await environment.advance(100 * HOUR_MS);
  expect(await artifacts.get(late)).toBeDefined();

  const second = createRuntime({ agents: [echo], log: memoryLog(), artifacts: kept, environment });
  await environment.idle();
  await expect(second.artifact(late)).rejects.toMatchObject(unknown);
  await second.close();
});

test("a file that a request attaches stays as long as its run", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [echo], environment });
  const file = await upload(runtime);
  const [started] = await collect(runtime, "echo", {
    type: "ChatRequest",
    input: "see the file",
    attachments: [file],
  });
  await environment.advance(100 * HOUR_MS);
  expect((await runtime.artifact(file)).info).toMatchObject({ runId: started?.run_id });

  if (started !== undefined) await runtime.removeRun(started.run_id);
  await expect(runtime.artifact(file)).rejects.toMatchObject(unknown);
  expect(environment.timers).toBe(0);
  await runtime.close();
});

async function upload(runtime: Runtime): Promise<ArtifactId> {
  const file = { name: "notes.txt", mimeType: "text/plain", body: notes(), limitBytes: 1_000 };
  return (await runtime.upload(file)).artifactId;
}

async function* notes(): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode("notes");
}
