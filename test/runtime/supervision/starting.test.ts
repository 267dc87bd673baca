import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";

test("a removal and an upload wait until the runtime has started", async () => {
  const { environment, log, artifacts, runId, begun, runtime } = await startingRuntime();
  const body = new Blob(["notes"]).stream();
  const removed = runtime.removeRun(runId);
  const uploaded = runtime.upload({ name: "notes.txt", mimeType: "text/plain", limitBytes: 100, body });
  await environment.idle();
  expect(runtime.health().ready).toBe(false);
  expect(await log.run(runId)).toMatchObject({ agent: "echo" });
  expect(await artifacts.size()).toBe(0);

  begun.resolve();
  await Promise.all([removed, uploaded]);
  expect(await log.run(runId)).toMatchObject({ removed: true });
  expect(await artifacts.size()).toBe(5);
  await runtime.close();
});

test("a removal and an upload that wait for the start are refused when the runtime closes", async () => {
  const { log, artifacts, runId, begun, runtime } = await startingRuntime();
  const body = new Blob(["notes"]).stream();
  const asked = Promise.allSettled([
    runtime.removeRun(runId),
    runtime.upload({ name: "notes.txt", mimeType: "text/plain", limitBytes: 100, body }),
  ]);
  const closing = runtime.close();
  begun.resolve();
  await closing;

  const refused = { status: "rejected", reason: { code: "unavailable" } };
  expect(await asked).toMatchObject([refused, refused]);
  expect(await log.run(runId)).toMatchObject({ agent: "echo" });
  expect(await artifacts.size()).toBe(0);
});

/** A runtime whose start waits until `begun` is resolved, on a log with one run. */
async function startingRuntime() {
  const environment = manualEnvironment();
  // The log survives the runtimes, so that a commit after the close succeeds.
  const log = { ...memoryLog(), close: async () => {} };
  const artifacts = memoryArtifacts();
  const before = createRuntime({ agents: [echo], log, environment });
  const runId = await before.createRun("echo", {});
  await before.close();

  const begun = Promise.withResolvers<void>();
  const open = async (): ReturnType<typeof log.open> => {
    await begun.promise;
    return log.open();
  };
  const runtime = createRuntime({ agents: [echo], log: { ...log, open }, artifacts, environment });
  return { environment, log, artifacts, runId, begun, runtime };
}
