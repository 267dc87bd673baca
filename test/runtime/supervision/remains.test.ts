import { createRuntime, defineAgent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import type { NewArtifact } from "../../../src/ports/artifact-store.ts";
import type { RunId } from "../../../src/protocol/ids.ts";
import { TestHost } from "../test-host.ts";

const publisher = defineAgent({
  name: "publisher",
  purpose: "Publishes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "file.txt", mimeType: "text/plain", data: input });
  },
});

const file = { name: "notes.txt", mimeType: "text/plain", limitBytes: 100 };

test("a removal interrupted by a crash is finished at the next start, including the files of the run", async () => {
  const host = new TestHost({ agents: [publisher] });
  const receipt = await host.ask("publisher", { type: "ChatRequest", input: "content" });
  const runId = receipt.runId as RunId;
  expect(await host.artifacts.size()).toBe(7);

  host.planFault({ kind: "crash", written: true });
  host.runtime.removeRun(runId).catch(() => {});
  await host.environment.idle();
  expect(host.crashed).toBe(true);
  await host.restart();

  expect(await host.artifacts.size()).toBe(0);
  expect(await host.log.run(runId)).toMatchObject({ removed: true });
  await expect(host.runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
});

test("a removal whose files could not be removed is finished without a restart", async () => {
  const host = new TestHost({ agents: [publisher] });
  const receipt = await host.ask("publisher", { type: "ChatRequest", input: "content" });
  const runId = receipt.runId as RunId;
  const { removeRun } = host.artifacts;
  let isAway = true;
  Object.assign(host.artifacts, {
    removeRun: (id: RunId) => (isAway ? Promise.reject(new Error("the store is away")) : removeRun(id)),
  });
  await host.restart();

  const removal = host.runtime.removeRun(runId);
  await expect(removal).rejects.toMatchObject({ code: "unavailable" });
  expect(host.faults).toEqual([`run ${runId} could not be written or removed: Error: the store is away`]);
  expect(await host.log.run(runId)).not.toMatchObject({ removed: true });

  isAway = false;
  await host.environment.advance(1_000);
  expect(await host.artifacts.size()).toBe(0);
  expect(await host.log.run(runId)).toMatchObject({ removed: true });
});

test("an incomplete copy of a run is removed at the next start", async () => {
  const host = new TestHost({ agents: [echo] });
  const receipt = await host.ask("echo", { type: "ChatRequest", input: "first" });
  host.planFault({ kind: "crash", written: true });
  host.runtime.fork(receipt.runId as RunId, { after: 3 }).catch(() => {});
  await host.environment.idle();
  expect((await host.log.list({ limit: 10 })).runs).toHaveLength(2);
  await host.restart();

  const { runs } = await host.log.list({ limit: 10 });
  expect(runs.map(({ runId }) => runId)).toEqual([receipt.runId]);
});

test("a file that arrives while its run is removed is not kept", async () => {
  const host = new TestHost({ agents: [echo] });
  const receipt = await host.ask("echo", { type: "ChatRequest", input: "first" });
  const runId = receipt.runId as RunId;
  async function* slowly(): AsyncGenerator<Uint8Array, void> {
    await host.runtime.removeRun(runId);
    yield new TextEncoder().encode("late");
  }

  await expect(host.runtime.upload({ ...file, runId, body: slowly() })).rejects.toMatchObject({
    code: "gone",
  });
  expect(await host.artifacts.size()).toBe(0);
});

test("a file that arrives for a run that another process removed is not kept", async () => {
  const host = new TestHost({ agents: [echo] });
  const receipt = await host.ask("echo", { type: "ChatRequest", input: "first" });
  const runId = receipt.runId as RunId;
  const { log, artifacts, environment } = host;
  const other = createRuntime({ agents: [echo], log, artifacts, environment });
  async function* slowly(): AsyncGenerator<Uint8Array, void> {
    await other.removeRun(runId);
    yield new TextEncoder().encode("late");
  }

  // This process does not know yet that the run has another owner.
  await expect(host.runtime.upload({ ...file, runId, body: slowly() })).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(await host.artifacts.size()).toBe(0);
});

test.each([
  ["in memory", 1],
  ["passivated", 0],
])(
  "a file that is still being stored when its turn is canceled is removed with its run, %s",
  async (_, idleRuns) => {
    const host = new TestHost({ agents: [publisher], limits: { idleRuns } });
    const { put } = host.artifacts;
    const stored = Promise.withResolvers<void>();
    Object.assign(host.artifacts, {
      async put(artifact: NewArtifact) {
        await stored.promise;
        return put(artifact);
      },
    });
    const { runId, requestId } = await host.ask("publisher", { type: "ChatRequest", input: "content" });
    await host.ask("publisher", { type: "CancelRequest", request_id: requestId });
    const removal = host.runtime.removeRun(runId as RunId);
    await host.environment.idle();
    stored.resolve();
    await removal;
    await host.environment.idle();

    expect(await host.artifacts.size()).toBe(0);
  },
);

test("a file that is attached while its run is removed is removed with it", async () => {
  const host = new TestHost({ agents: [echo] });
  const body = new Blob(["content"]).stream();
  const { artifactId } = await host.runtime.upload({ ...file, body });
  const { attach } = host.artifacts;
  const attaching = Promise.withResolvers<void>();
  const attachments = [artifactId];
  const request = { type: "ChatRequest", input: "first", request_id: "asked twice", attachments } as const;
  await host.ask("echo", request);
  Object.assign(host.artifacts, {
    async attach(...given: Parameters<typeof attach>) {
      await attaching.promise;
      await attach(...given);
    },
  });
  await host.restart();
  // The retried request attaches its file again.
  const answer = host.runtime.process("echo", request);
  await host.environment.idle();
  const [run] = (await host.log.list({ limit: 1 })).runs;
  const removal = host.runtime.removeRun(run?.runId as RunId);
  await host.environment.idle();
  attaching.resolve();
  await Promise.all([answer, removal]);

  expect(await host.artifacts.size()).toBe(0);
});
