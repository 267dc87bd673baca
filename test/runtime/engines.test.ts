import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, memoryLog } from "troupe";
import type { EventLog, Runtime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { ofType } from "../agents/events.ts";
import { asker, keeper, readText } from "./agents.ts";

/** A runtime that is closed after the test. */
function start(log: EventLog): Runtime {
  const runtime = createRuntime({ agents: [keeper, asker], log });
  onTestFinished(() => runtime.close({ drainMs: 0 }));
  return runtime;
}

/** Stores a file and a secret with the text "hidden", and reads both after the log is reopened. */
async function readAgain(log: EventLog, reopen: () => EventLog): Promise<readonly unknown[]> {
  const before = start(log);
  await before.process("keeper", { type: "ConfigureRequest", args: { api_key: "hidden" } });
  const [file] = ofType(
    await collect(before, "keeper", { type: "ChatRequest", input: "" }),
    "ArtifactGenerated",
  );
  await before.close();

  const after = start(reopen());
  const [end] = ofType(
    await collect(after, "keeper", { type: "ChatRequest", input: "" }),
    "RequestCompleted",
  );
  return [await readText(after, file?.artifact_id ?? ""), end?.result];
}

test("a log in a directory stores files and secrets in that directory too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-engines-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  expect(await readAgain(sqliteLog(directory), () => sqliteLog(directory))).toEqual(["hidden", "hidden"]);
  expect(await readdir(directory)).toEqual(expect.arrayContaining(["artifacts", "log.db", "secrets.json"]));
});

test("a closed memory log is reopened with its files and secrets", async () => {
  const log = memoryLog();
  expect(await readAgain(log, () => log.reopen())).toEqual(["hidden", "hidden"]);
});

test("a runtime on a reopened memory log continues the turns of the previous one", async () => {
  const log = memoryLog();
  const crashed = start(log);
  const asked = await collect(crashed, "asker", { type: "ChatRequest", input: "", request_id: "name" });
  expect(asked.at(-1)).toMatchObject({ type: "WaitForInput" });

  // The first runtime is not closed, like a killed process: it can no longer write.
  const next = start(log.reopen());
  await expect(crashed.process("asker", { type: "ChatRequest", input: "" })).rejects.toThrow(
    /does not take events|log/,
  );
  const answer = { type: "ResumeWithInput", request_id: "name", request_keys: { name: "Ada" } } as const;
  expect((await collect(next, "asker", answer)).at(-1)).toMatchObject({ result: "Hello, Ada!" });
});

test("an option that is undefined has its default", async () => {
  const options: object = {
    log: undefined,
    artifacts: undefined,
    secrets: undefined,
    router: undefined,
    environment: undefined,
    telemetry: undefined,
    bind: undefined,
    defaultAgent: undefined,
    textWindowMs: undefined,
    retainMs: undefined,
    retainBytes: undefined,
    limits: { depth: undefined },
  };
  const runtime = createRuntime({ agents: [keeper], ...options });
  onTestFinished(() => runtime.close());
  const [end] = ofType(
    await collect(runtime, "keeper", { type: "ChatRequest", input: "" }),
    "RequestCompleted",
  );
  expect(end).toMatchObject({ result: "none" });
});
