import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import type { Principal, Runtime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";

const ann: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const bob: Principal = { id: "bob", owner: "other", roles: ["user"] };

async function open(directory: string): Promise<Runtime> {
  const runtime = createRuntime({ agents: [echo], log: sqliteLog(directory) });
  await runtime.ready();
  return runtime;
}

test("what was sealed is opened after a restart, for its purpose and its owner alone, and only unchanged", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-seals-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const before = await open(directory);
  const sealed = await before.as(ann).seals.seal("call", { request: "req_1", waits: [2] });
  await before.close();

  const after = await open(directory);
  onTestFinished(() => after.close());
  const { seals } = after.as(ann);
  expect(await seals.open("call", sealed)).toEqual({ request: "req_1", waits: [2] });
  expect(await seals.open("other", sealed)).toBeUndefined();
  expect(await after.as(bob).seals.open("call", sealed)).toBeUndefined();
  const [key, payload = "", mac] = sealed.split(".");
  const forged = Buffer.from(payload, "base64url").toString().replace("req_1", "req_2");
  for (const text of [
    `${key}.${Buffer.from(forged).toString("base64url")}.${mac}`,
    sealed.slice(0, -1),
    `${sealed}a`,
    "",
    "a.b.c",
  ]) {
    expect(await seals.open("call", text)).toBeUndefined();
  }
});

test("what was hidden is read after a restart, for its purpose and its owner alone, and its text says nothing", async () => {
  const directory = await mkdtemp(join(tmpdir(), "troupe-seals-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const before = await open(directory);
  const hidden = await before.as(ann).seals.hide("push", { token: "a secret" });
  expect(await before.as(ann).seals.hide("push", { token: "a secret" })).not.toBe(hidden);
  expect(Buffer.from(hidden.split(".")[2] ?? "", "base64url").toString()).not.toContain("secret");
  await before.close();

  const after = await open(directory);
  onTestFinished(() => after.close());
  const { seals } = after.as(ann);
  expect(await seals.reveal("push", hidden)).toEqual({ token: "a secret" });
  expect(await seals.reveal("other", hidden)).toBeUndefined();
  expect(await after.as(bob).seals.reveal("push", hidden)).toBeUndefined();
  for (const text of [hidden.slice(0, -2), `${hidden}aa`, hidden.replace(".", ".A"), "", "a.b.c"])
    expect(await seals.reveal("push", text)).toBeUndefined();
});
