/** @module-tag long */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdtemp, rm, symlink, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { Editor } from "./editor.ts";

const root = resolve(import.meta.dirname, "../../..");
const main = join(root, "dist/cli/main.js");
const FRAMES = Number(process.env["ACP_FRAMES"] ?? 1_000);

async function createProject(): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "troupe-acp-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await mkdir(join(cwd, "agents"));
  await mkdir(join(cwd, "node_modules"));
  await symlink(root, join(cwd, "node_modules/troupe"));
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  await cp(join(root, "agents/payments.ts"), join(cwd, "agents/payments.ts"));
  return cwd;
}

test("after a kill in the middle of a turn, the loaded session asks again and ends as without", async () => {
  const cwd = await createProject();
  const open = (permit: () => Promise<string>) =>
    Editor.of(process.execPath, [main, "acp", "payments"], { cwd, permit });
  const killed = await open(() => new Promise(() => {}));
  const session = await killed.open(cwd);
  const prompt = killed.prompt(session, "pay 30 to bob").catch(() => "lost");
  await expect.poll(() => killed.permissions.length).toBe(1);
  killed.child.kill("SIGKILL");
  expect(await prompt).toBe("lost");
  await killed[Symbol.asyncDispose]();

  await using editor = await open(async () => "allow");
  await editor.load(session, cwd);
  await expect.poll(() => editor.said()).toContain("Paid 30 to bob");
  expect(editor.said("user")).toBe("pay 30 to bob");
});

test(`${FRAMES} malformed frames end nothing, and standard output has only frames`, async () => {
  const cwd = await createProject();
  const child = spawn(process.execPath, [main, "acp"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const begun = Promise.withResolvers<unknown>();
  const found = Promise.withResolvers<unknown>();
  const faults: string[] = [];
  lines.on("line", (line) => {
    try {
      const { id, jsonrpc, result } = JSON.parse(line) as Record<string, unknown>;
      if (jsonrpc !== "2.0") faults.push(line);
      if (id === "first") begun.resolve(result);
      if (id === "last") found.resolve(result);
    } catch {
      faults.push(line);
    }
  });
  const send = (frame: unknown): void => void child.stdin.write(`${JSON.stringify(frame)}\n`);
  send({ jsonrpc: "2.0", id: "first", method: "initialize", params: { protocolVersion: 1 } });
  expect(await begun.promise).toMatchObject({ protocolVersion: 1 });
  const methods = [
    "session/new",
    "session/load",
    "session/prompt",
    "session/set_mode",
    "session/list",
    "no/such",
  ];
  for (let index = 0; index < FRAMES; index += 1) {
    const noise = randomBytes(12).toString("base64");
    const method = methods[index % methods.length];
    if (index % 4 === 0) child.stdin.write(`${noise}\n`);
    else if (index % 4 === 1) send([noise, index]);
    else if (index % 4 === 2)
      send({ jsonrpc: "2.0", id: index, method, params: { sessionId: noise, cwd: noise } });
    else send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: index } });
  }
  send({ jsonrpc: "2.0", id: "last", method: "session/new", params: { cwd, mcpServers: [] } });
  expect(await found.promise).toHaveProperty("sessionId");
  expect(faults).toEqual([]);
  child.stdin.end();
  await exited;
});
