import { createRuntime, defineAgent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import type { NewArtifact } from "../../../src/ports/artifact-store.ts";
import type { RunId } from "../../../src/protocol/ids.ts";
import { World } from "../world.ts";

const publisher = defineAgent({
  name: "publisher",
  purpose: "Publishes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "file.txt", mimeType: "text/plain", data: input });
  },
});

const file = { name: "notes.txt", mimeType: "text/plain", limitBytes: 100 };

test("a removal interrupted by a crash is finished at the next start, including the files of the run", async () => {
  const world = new World({ agents: [publisher] });
  const receipt = await world.ask("publisher", { type: "ChatRequest", input: "content" });
  const runId = receipt.runId as RunId;
  expect(await world.artifacts.size()).toBe(7);

  world.plan({ kind: "crash", written: true });
  world.runtime.removeRun(runId).catch(() => {});
  await world.environment.idle();
  expect(world.crashed).toBe(true);
  await world.restart();

  expect(await world.artifacts.size()).toBe(0);
  expect(await world.log.run(runId)).toMatchObject({ removed: true });
  await expect(world.runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
});

test("an incomplete copy of a run is removed at the next start", async () => {
  const world = new World({ agents: [echo] });
  const receipt = await world.ask("echo", { type: "ChatRequest", input: "first" });
  world.plan({ kind: "crash", written: true });
  world.runtime.fork(receipt.runId as RunId, { after: 3 }).catch(() => {});
  await world.environment.idle();
  expect((await world.log.list({ limit: 10 })).runs).toHaveLength(2);
  await world.restart();

  const { runs } = await world.log.list({ limit: 10 });
  expect(runs.map(({ runId }) => runId)).toEqual([receipt.runId]);
});

test("a file that arrives while its run is removed is not kept", async () => {
  const world = new World({ agents: [echo] });
  const receipt = await world.ask("echo", { type: "ChatRequest", input: "first" });
  const runId = receipt.runId as RunId;
  async function* slowly(): AsyncGenerator<Uint8Array, void> {
    await world.runtime.removeRun(runId);
    yield new TextEncoder().encode("late");
  }

  await expect(world.runtime.upload({ ...file, runId, body: slowly() })).rejects.toMatchObject({
    code: "gone",
  });
  expect(await world.artifacts.size()).toBe(0);
});

test("a file that arrives for a run that another process removed is not kept", async () => {
  const world = new World({ agents: [echo] });
  const receipt = await world.ask("echo", { type: "ChatRequest", input: "first" });
  const runId = receipt.runId as RunId;
  const { log, artifacts, environment } = world;
  const other = createRuntime({ agents: [echo], log, artifacts, environment });
  async function* slowly(): AsyncGenerator<Uint8Array, void> {
    await other.removeRun(runId);
    yield new TextEncoder().encode("late");
  }

  // This process does not know yet that the run has another owner.
  await expect(world.runtime.upload({ ...file, runId, body: slowly() })).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(await world.artifacts.size()).toBe(0);
});

test.each([
  ["in memory", 1],
  ["let go of", 0],
])(
  "a file that is still being stored when its turn is canceled is removed with its run, %s",
  async (_, idleRuns) => {
    const world = new World({ agents: [publisher], limits: { idleRuns } });
    const { put } = world.artifacts;
    const stored = Promise.withResolvers<void>();
    Object.assign(world.artifacts, {
      async put(artifact: NewArtifact) {
        await stored.promise;
        return put(artifact);
      },
    });
    const { runId, requestId } = await world.ask("publisher", { type: "ChatRequest", input: "content" });
    await world.ask("publisher", { type: "CancelRequest", request_id: requestId });
    const removal = world.runtime.removeRun(runId as RunId);
    await world.environment.idle();
    stored.resolve();
    await removal;
    await world.environment.idle();

    expect(await world.artifacts.size()).toBe(0);
  },
);

test("a file that is attached while its run is removed is removed with it", async () => {
  const world = new World({ agents: [echo] });
  const body = new Blob(["content"]).stream();
  const { artifactId } = await world.runtime.upload({ ...file, body });
  const { attach, removeRun } = world.artifacts;
  const removing = Promise.withResolvers<void>();
  let removed = false;
  const attachments = [artifactId];
  const request = { type: "ChatRequest", input: "first", request_id: "asked twice", attachments } as const;
  await world.ask("echo", request);
  Object.assign(world.artifacts, {
    async attach(...given: Parameters<typeof attach>) {
      await removing.promise;
      await attach(...given);
    },
    async removeRun(runId: RunId) {
      await removeRun(runId);
      removing.resolve();
      if (!removed) {
        removed = true;
        await answer;
      }
    },
  });
  await world.restart();
  // The retried request attaches its file again.
  const answer = world.runtime.process("echo", request);
  await world.environment.idle();
  const [run] = (await world.log.list({ limit: 1 })).runs;
  await world.runtime.removeRun(run?.runId as RunId);

  expect(await world.artifacts.size()).toBe(0);
});
