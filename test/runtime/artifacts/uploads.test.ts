import { readdirSync } from "node:fs";
import { createRuntime, defineAgent, memoryArtifacts, memoryLog } from "troupe";
import type { Turn } from "troupe";
import { fsArtifacts } from "troupe/storage/fs";
import { collect, manualEnvironment } from "troupe/testing";
import { describe, expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { isReservation, reservationId } from "../../../src/ports/artifact-store.ts";
import type { ArtifactStore } from "../../../src/ports/artifact-store.ts";
import type { Runtime, Upload } from "../../../src/runtime/api.ts";
import type { ArtifactId, RunId } from "../../../src/protocol/ids.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { TestHost } from "../test-host.ts";

const HOUR_MS = 3_600_000;
const unknown = { code: "not_found" };

test("a file that no request attaches within a day is removed, also after a restart", async () => {
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

test("a reservation of another process keeps a file for a day, and no longer", async () => {
  const environment = manualEnvironment();
  const artifacts = memoryArtifacts();
  const runtime = createRuntime({ agents: [echo], environment, artifacts });
  const file = await upload(runtime);
  const request = { type: "ChatRequest", input: "see the file", attachments: [file] } as const;
  const [started] = await collect(runtime, "echo", request);
  await runtime.close();
  await artifacts.attach([file], reservationId(environment.now(), "dead"));

  const next = createRuntime({ agents: [echo], environment, artifacts });
  await environment.advance(20 * HOUR_MS);
  await artifacts.removeRun(started?.run_id ?? "");
  expect((await next.artifact(file)).info.name).toBe("notes.txt");
  await environment.advance(6 * HOUR_MS);
  await expect(next.artifact(file)).rejects.toMatchObject(unknown);
  expect(environment.timers).toBe(0);
  await next.close();
});

test("a file whose run is removed during its upload is removed a day later, also if the process ends then", async () => {
  const environment = manualEnvironment();
  const artifacts = memoryArtifacts();
  const stored = Promise.withResolvers<void>();
  const ending: ArtifactStore = {
    ...artifacts,
    async put(file) {
      await artifacts.put(file);
      stored.resolve();
      // The process ends here.
      return new Promise(() => {});
    },
  };
  const runtime = createRuntime({ agents: [echo], environment, artifacts: ending });
  const runId = await runtime.createRun("echo", {});
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    await runtime.removeRun(runId);
    yield new TextEncoder().encode("late");
  };
  void upload(runtime, { runId, body: bytes() });
  await stored.promise;
  expect(await artifacts.size()).toBe(4);
  await runtime.close();

  await environment.advance(25 * HOUR_MS);
  const next = createRuntime({ agents: [echo], environment, artifacts });
  await environment.idle();
  expect(await artifacts.size()).toBe(0);
  await next.close();
});

test("an upload to a run whose sender goes away leaves no file and no reservation", async () => {
  const directory = temporaryDirectory();
  const runtime = createRuntime({ agents: [echo], artifacts: fsArtifacts(directory) });
  const runId = await runtime.createRun("echo", {});
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode("half");
    throw new Error("the sender went away");
  };
  await expect(upload(runtime, { runId, body: body() })).rejects.toThrow("the sender went away");
  const left = readdirSync(directory, { recursive: true, encoding: "utf8" });
  expect(left.toSorted()).toEqual(["incoming", "runs", "unattached"]);
  await runtime.close();
});

test("the sender of a refused file gets the refusal, also if the file cannot be removed at once", async () => {
  const host = new TestHost({ agents: [echo] });
  const { removeRun } = host.artifacts;
  Object.assign(host.artifacts, {
    removeRun: (id: RunId) =>
      isReservation(id) ? Promise.reject(new Error("the store is away")) : removeRun(id),
  });
  await host.restart();
  const creation = host.runtime.createRun("echo", {});
  await host.environment.idle();
  const runId = await creation;
  const body = async function* (): AsyncGenerator<Uint8Array> {
    const removal = host.runtime.removeRun(runId);
    await host.environment.idle();
    await removal;
    yield new TextEncoder().encode("late");
  };
  await expect(upload(host.runtime, { runId, body: body() })).rejects.toMatchObject({ code: "gone" });
  expect(host.faults).toEqual([expect.stringContaining("could not be removed: Error: the store is away")]);
  await host.environment.advance(25 * HOUR_MS);
  expect(await host.artifacts.size()).toBe(0);
});

test("the sender of a file that the log cannot take is told to try again, also if the log cannot be read", async () => {
  const host = new TestHost({ agents: [echo] });
  const { run } = host.log;
  Object.assign(host.log, {
    run: (id: RunId) =>
      host.runtime.health().log.writable ? run(id) : Promise.reject(new Error("the disk is gone")),
  });
  await host.restart();
  const creation = host.runtime.createRun("echo", {});
  await host.environment.idle();
  const runId = await creation;
  host.planFault({ kind: "failure", written: false });
  const [sent] = await Promise.allSettled([upload(host.runtime, { runId }), host.environment.idle()]);
  expect(sent).toMatchObject({ reason: { code: "unavailable" } });
});

test.each([
  { about: "a log of one process", node: {} },
  { about: "a log that several nodes can share", node: { node: "one" } },
])("a refused request does not keep its files: their run can be removed, on $about", async ({ node }) => {
  const busy = defineAgent({
    name: "busy",
    purpose: "Never ends.",
    chat: () => new Promise<never>(() => {}),
  });
  const host = new TestHost({ agents: [echo, busy], ...node });
  const chat = { type: "ChatRequest", input: "see the file" } as const;
  const uploaded = upload(host.runtime);
  await host.environment.idle();
  const attachments = [await uploaded];
  const owner = await host.ask("echo", { ...chat, attachments });
  await host.environment.advance(2_000);
  const { runId } = await host.ask("busy", chat);
  const refused = host.ask("busy", { ...chat, attachments, run_id: runId as RunId, on_busy: "reject" });
  await expect(refused).rejects.toMatchObject({ code: "conflict" });

  let isRemoved = false;
  void host.runtime.removeRun(owner.runId as RunId).then(() => {
    isRemoved = true;
  });
  await host.environment.idle();
  expect(isRemoved).toBe(true);
  expect(await host.artifacts.size()).toBe(0);
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
  expect((await runtime.artifact(file)).info).toMatchObject({ runIds: [started?.run_id] });

  if (started !== undefined) await runtime.removeRun(started.run_id);
  await expect(runtime.artifact(file)).rejects.toMatchObject(unknown);
  expect(environment.timers).toBe(0);
  await runtime.close();
});

test("an agent reads the files of its request; an agent it calls gets none", async () => {
  const seen: unknown[] = [];
  const look = async (who: string, turn: Turn): Promise<void> => {
    const files = await turn.attachments();
    seen.push([who, turn.request.attachments.length, files.length]);
    for (const { name, mimeType, sizeBytes, url, text, bytes } of files)
      seen.push({ name, mimeType, sizeBytes, url, text: await text(), bytes: [...(await bytes())] });
  };
  const helper = defineAgent({ name: "helper", purpose: "Looks.", chat: (_, turn) => look("helper", turn) });
  const reader = defineAgent({
    name: "reader",
    purpose: "Looks, asks, looks again.",
    async chat(_input, turn) {
      await look("reader", turn);
      await turn.call(helper, "chat", { input: "" });
      await turn.waitForInput({ more: "More?" });
    },
  });
  const runtime = createRuntime({ agents: [reader] });
  const file = await upload(runtime);
  await collect(runtime, "reader", { type: "ChatRequest", input: "", attachments: [file] });
  expect(seen).toEqual([
    ["reader", 1, 1],
    {
      name: "notes.txt",
      mimeType: "text/plain",
      sizeBytes: 5,
      url: `/artifacts/${file}`,
      text: "notes",
      bytes: [...new TextEncoder().encode("notes")],
    },
    ["helper", 0, 0],
  ]);
  await runtime.close();
});

describe.each([
  ["memory", memoryArtifacts],
  ["files", () => fsArtifacts(temporaryDirectory())],
] as const)("the files in %s that no request has attached", (_, open) => {
  test("are limited by number; those that a request attaches or a run gets do not count", async () => {
    const environment = manualEnvironment();
    const artifacts = open();
    const limits = { unattachedFiles: 2 };
    const runtime = createRuntime({ agents: [echo], environment, artifacts, limits });
    const first = await upload(runtime);
    await upload(runtime);
    await expect(upload(runtime)).rejects.toMatchObject({
      code: "overloaded",
      message: "the files that no request has attached are at their limit of 2 files",
      details: { retryAfterS: 5 },
    });
    const runId = await runtime.createRun("echo", {});
    await upload(runtime, { runId });

    await collect(runtime, "echo", { type: "ChatRequest", input: "see the file", attachments: [first] });
    await environment.advance(5_000);
    await upload(runtime);
    await expect(upload(runtime)).rejects.toMatchObject({ code: "overloaded" });
    await environment.advance(24 * HOUR_MS);
    const hourLater = async (): Promise<number> => {
      await environment.advance(HOUR_MS);
      return (await artifacts.unattached()).files;
    };
    await expect.poll(hourLater).toBe(0);
    await upload(runtime);
    await runtime.close();
  });

  test("are limited by their bytes, also while several arrive, and one above the limit is not stored", async () => {
    const artifacts = open();
    const runtime = createRuntime({ agents: [echo], artifacts, limits: { unattachedBytes: 12 } });
    const chunk = new Uint8Array(4);
    const gate = Promise.withResolvers<void>();
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      yield chunk;
      await gate.promise;
      yield chunk;
    };
    const both = [upload(runtime, { body: slow() }), upload(runtime, { body: slow() })];
    gate.resolve();
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(ends.find(({ status }) => status === "rejected")).toMatchObject({
      reason: {
        code: "overloaded",
        message: "the files that no request has attached are at their limit of 12 bytes",
      },
    });
    expect(await artifacts.unattached()).toEqual({ files: 1, bytes: 8 });
    await runtime.close();
  });

  test("of an earlier process count", async () => {
    const artifacts = open();
    const first = createRuntime({ agents: [echo], artifacts: { ...artifacts, close: async () => {} } });
    await upload(first);
    await first.close();
    const second = createRuntime({ agents: [echo], artifacts, limits: { unattachedFiles: 1 } });
    await expect(upload(second)).rejects.toMatchObject({ code: "overloaded" });
    await second.close();
  });
});

async function upload(
  runtime: Runtime,
  to: Partial<Pick<Upload, "runId" | "body">> = {},
): Promise<ArtifactId> {
  const file = { name: "notes.txt", mimeType: "text/plain", body: notes(), limitBytes: 1_000, ...to };
  return (await runtime.upload(file)).artifactId;
}

async function* notes(): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode("notes");
}
