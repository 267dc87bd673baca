import { createRuntime, defineAgent, memoryArtifacts } from "troupe";
import type { Runtime } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";

const publisher = defineAgent({
  name: "publisher",
  purpose: "Publishes its input, and answers with the content of the files of its request.",
  async chat(input, turn) {
    await turn.artifact({ name: "file.txt", mimeType: "text/plain", data: input });
    const files = await turn.attachments();
    return (await Promise.all(files.map(({ text }) => text()))).join();
  },
});

const file = { name: "notes.txt", mimeType: "text/plain", limitBytes: 100 };

/** Lets the publisher publish a text. */
async function publish(
  runtime: Runtime,
  input: string,
  fields: { run_id?: string; attachments?: string[] } = {},
) {
  const events = await collect(runtime, "publisher", { type: "ChatRequest", input, ...fields });
  const end = events.at(-1);
  const published = events.find(({ type }) => type === "ArtifactGenerated");
  if (end?.type !== "RequestCompleted" || published?.type !== "ArtifactGenerated")
    throw new Error("the publisher does not answer");
  return { runId: end.run_id, endId: end.id, artifactId: published.artifact_id, result: end.result };
}

async function contentOf(runtime: Runtime, artifactId: string): Promise<string> {
  const { body } = await runtime.artifact(artifactId);
  return new Response(ReadableStream.from(body)).text();
}

test("a fork keeps the files of its history when its source is removed, and removes them with itself", async () => {
  const artifacts = memoryArtifacts();
  const runtime = createRuntime({ agents: [publisher], artifacts });
  const given = await runtime.upload({ ...file, body: new Blob(["given"]).stream() });
  const first = await publish(runtime, "published", { attachments: [given.artifactId] });
  const added = await runtime.upload({ ...file, runId: first.runId, body: new Blob(["added"]).stream() });
  const second = await publish(runtime, "again", { run_id: first.runId });
  const later = await publish(runtime, "later", { run_id: first.runId });
  const fork = await runtime.fork(first.runId, { after: second.endId });
  const forkOfFork = await runtime.fork(fork, { after: first.endId });
  await runtime.removeRun(first.runId);

  expect(await contentOf(runtime, first.artifactId)).toBe("published");
  expect(await contentOf(runtime, given.artifactId)).toBe("given");
  expect(await contentOf(runtime, added.artifactId)).toBe("added");
  await expect(runtime.artifact(later.artifactId)).rejects.toMatchObject({ code: "not_found" });

  await runtime.removeRun(fork);
  expect(await contentOf(runtime, first.artifactId)).toBe("published");
  expect(await contentOf(runtime, given.artifactId)).toBe("given");
  await expect(runtime.artifact(added.artifactId)).rejects.toMatchObject({ code: "not_found" });
  await runtime.removeRun(forkOfFork);
  expect(await artifacts.size()).toBe(0);
  await runtime.close();
});

test("a file of one run that a request attaches to another stays until both are removed", async () => {
  const artifacts = memoryArtifacts();
  const runtime = createRuntime({ agents: [publisher], artifacts });
  const first = await publish(runtime, "published");
  const second = await publish(runtime, "other", { attachments: [first.artifactId] });
  expect(second.result).toBe("published");
  await runtime.removeRun(first.runId);

  expect(await contentOf(runtime, first.artifactId)).toBe("published");
  await runtime.removeRun(second.runId);
  expect(await artifacts.size()).toBe(0);
  await runtime.close();
});

test("a request whose process dies right after its acceptance keeps its files", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks before it answers.",
    chat: (_input, turn) => turn.waitForInput({ go: "Go on?" }).then(() => "done"),
  });
  const host = new TestHost({ agents: [publisher, asker] });
  const { runId } = await host.ask("publisher", { type: "ChatRequest", input: "published" });
  const [published] = (await host.events(runId as string)).filter(({ type }) => type === "ArtifactGenerated");
  if (published?.type !== "ArtifactGenerated") throw new Error("nothing is published");
  const { artifact_id: artifactId } = published;
  host.planFault({ kind: "crash", written: true });
  const request = { type: "ChatRequest", input: "", request_id: "asked", attachments: [artifactId] } as const;
  host.runtime.process("asker", request).catch(() => {});
  await host.environment.idle();
  expect(host.crashed).toBe(true);
  await host.restart();
  await host.runtime.removeRun(runId as string);

  expect((await host.artifacts.get(artifactId))?.runIds).toHaveLength(1);
});

test("a removal never deletes the files of a request that is being accepted", async () => {
  const host = new TestHost({ agents: [publisher] });
  const { runId } = await host.ask("publisher", { type: "ChatRequest", input: "published" });
  const [published] = (await host.events(runId as string)).filter(({ type }) => type === "ArtifactGenerated");
  if (published?.type !== "ArtifactGenerated") throw new Error("nothing is published");
  const attachments = [published.artifact_id];
  host.holdCommits();
  const accepted = host.runtime.process("publisher", { type: "ChatRequest", input: "other", attachments });
  await host.environment.idle();
  const removed = host.runtime.removeRun(runId as string);
  await host.environment.idle();
  await host.releaseCommits();
  await removed;

  const { requestId } = await accepted;
  await host.environment.idle();
  expect((await host.events(requestId)).at(-1)).toMatchObject({ result: "published" });
});

test("a fork attaches all files of its history together, which is faster on a disk", async () => {
  const artifacts = memoryArtifacts();
  const { attach } = artifacts;
  const attached: (readonly string[])[] = [];
  artifacts.attach = (artifactIds, runId) => {
    attached.push(artifactIds);
    return attach(artifactIds, runId);
  };
  const runtime = createRuntime({ agents: [publisher], artifacts });
  const first = await publish(runtime, "first");
  const second = await publish(runtime, "second", { run_id: first.runId });

  await runtime.fork(first.runId, { after: second.endId });
  expect(attached).toEqual([[first.artifactId, second.artifactId]]);
  await runtime.close();
});
