/** @module-tag long */
import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../command.ts";
import { defineAgent } from "../../../src/index.ts";
import { keepCode } from "../../../src/node/versions/keep-versions.ts";
import { fsVersions } from "../../../src/storage/fs/versions.ts";
import type { RunningCommand } from "../command.ts";

/** An agent that asks after it has said what its files have, and says it again at its end. */
function orderSaying(word: string, more = ""): string {
  return `import { readFileSync } from "node:fs";
import { defineAgent } from "troupe";
import type { Kind } from "../lib/kind.ts";
import { lib } from "../lib/words.ts";
import { alias } from "#alias";
${more}
const prompt: string = readFileSync(new URL("./prompt.md", import.meta.url), "utf8");
const kind: Kind = "kind";
export const order = defineAgent({
  name: "order",
  purpose: "Orders.",
  async chat(_input, turn) {
    await turn.text("${word}");
    await turn.waitForInput({ ok: "Right?" });
    const { late } = await import("../lib/late.ts");
    return ["${word}", lib, alias, prompt, late, kind].join(" ");
  },
});
`;
}

/** The files of a project in which each word is this one. */
function filesSaying(word: string): Readonly<Record<string, string>> {
  return {
    "package.json": JSON.stringify({ type: "module", imports: { "#alias": "./lib/alias.ts" } }),
    "agents/order.ts": orderSaying(word),
    "agents/prompt.md": `prompt-${word}`,
    "lib/kind.ts": "export type Kind = string;\n",
    "lib/words.ts": `export const lib: string = "lib-${word}";\n`,
    "lib/alias.ts": `export const alias: string = "alias-${word}";\n`,
    "lib/late.ts": `export const late: string = "late-${word}";\n`,
  };
}

async function write(cwd: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(cwd, "lib"), { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(cwd, path), text);
}

/** A server, and requests of it. */
interface Served {
  readonly command: RunningCommand;
  ask(): Promise<string>;
  /** Answers the question of a request, and resolves with its status when it has ended, or is held. */
  answer(requestId: string): Promise<Readonly<Record<string, unknown>>>;
  /** Tries the held turn of a request again, and resolves with the status of the request when it has ended. */
  retry(requestId: string): Promise<Readonly<Record<string, unknown>>>;
  stop(): Promise<void>;
}

async function serve(cwd: string, ...args: readonly string[]): Promise<Served> {
  const command = startCommand(["serve", "--port=0", ...args], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  const send = async (body: object, query: string): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${url}/order/process${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  const statusOf = async (requestId: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(`${url}/request/${requestId}`)).json()) as Readonly<Record<string, unknown>>;
  return {
    command,
    async ask() {
      const asked = await send({ type: "ChatRequest", input: "" }, "?wait=completed");
      return String(asked["request_id"]);
    },
    async answer(requestId) {
      const answer = { type: "ResumeWithInput", request_id: requestId, request_keys: { ok: true } };
      // A hold is logged before the answer.
      await send(answer, "?wait=true");
      const now = await statusOf(requestId);
      if (now["status"] === "held") return now;
      await (await fetch(`${url}/getevents/${requestId}?stream=true&since=0`)).text();
      return statusOf(requestId);
    },
    async retry(requestId) {
      const { run_id: run } = await statusOf(requestId);
      await fetch(`${url}/runs/${String(run)}/retry`, { method: "POST" });
      await (await fetch(`${url}/getevents/${requestId}?stream=true&since=0`)).text();
      return statusOf(requestId);
    },
    async stop() {
      command.kill("SIGKILL");
      await command.exited;
    },
  };
}

test(
  "a folder that cannot be read is left out with a warning that names it, and the code is kept",
  { tags: "long" },
  async () => {
    const cwd = await createProject({});
    await write(cwd, filesSaying("old"));
    // A path that is too long cannot be read, whoever runs the test.
    const deep =
      'const fs = require("fs"); for (let n = 0; n < 20; n += 1) { fs.mkdirSync(name); process.chdir(name); }';
    await promisify(execFile)(process.execPath, ["-e", `const name = "deep${"x".repeat(240)}"; ${deep}`], {
      cwd,
    });
    const server = await serve(cwd);
    try {
      const [warning] = await server.command.match(
        /^\S+ warn .*deep.* cannot be read \(ENAMETOOLONG\), so that it is not kept$/m,
      );
      expect(warning).toContain(join(cwd, "deepx"));
      const asked = await server.ask();
      await server.stop();
      await write(cwd, filesSaying("new"));
      const next = await serve(cwd);
      expect(await next.answer(asked)).toMatchObject({
        result: "old lib-old alias-old prompt-old late-old kind",
      });
      await next.stop();
    } finally {
      await promisify(execFile)("sh", ["-c", "rm -rf deep*"], { cwd });
    }
  },
);

test("a program keeps the versions of the module of its agents", { tags: "long" }, async () => {
  const program = `import { createRuntime } from "troupe";
import { keepVersions } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { order } from "./agents/order.ts";
const log = sqliteLog("data");
const entry = new URL("./agents/order.ts", import.meta.url);
const versions = await keepVersions({ entry, log, directory: "data", warn: console.warn });
const runtime = createRuntime({ agents: [order], log, versions });
const [type, id] = process.argv.slice(2);
const values = { request_id: id, request_keys: { ok: true }, input: "" };
const receipt = await runtime.process("order", { type, ...values });
await runtime.acknowledgement({ ...receipt, kind: "turn" }, { until: "completed", timeoutMs: 60_000 });
console.log(JSON.stringify(await runtime.status(id)));
await runtime.close();
`;
  const cwd = await createProject({ "program.ts": program });
  const run = async (type: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, ["program.ts", type, "asked"], { cwd });
    return JSON.parse(stdout) as unknown;
  };
  await write(cwd, filesSaying("old"));
  expect(await run("ChatRequest")).toMatchObject({ status: "waiting" });
  await write(cwd, filesSaying("new"));
  expect(await run("ResumeWithInput")).toMatchObject({
    finish_reason: "success",
    result: "old lib-old alias-old prompt-old late-old kind",
  });
});

/** All that is kept in a project, by its content. */
async function keptIn(cwd: string): Promise<string> {
  const folder = join(cwd, ".troupe/versions/files");
  const names = await readdir(folder);
  return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("\n");
}

test("a turn is continued by the kept version that began it, with its own modules and files", async () => {
  const cwd = await createProject({});
  await write(cwd, filesSaying("old"));
  const first = await serve(cwd);
  const id = await first.ask();
  await first.stop();
  await write(cwd, filesSaying("new"));
  await rm(join(cwd, "lib/late.ts"));
  await writeFile(join(cwd, "lib/late.ts"), 'export const late: string = "late-new";\n');

  const second = await serve(cwd);
  const other = await second.ask();
  const all = (word: string): string => `${word} lib-${word} alias-${word} prompt-${word} late-${word} kind`;
  expect(await second.answer(id)).toMatchObject({ finish_reason: "success", result: all("old") });
  expect(await second.answer(other)).toMatchObject({ finish_reason: "success", result: all("new") });
  await second.stop();

  // No turn is open, so the next start removes what it does not serve.
  const third = await serve(cwd);
  await third.ask();
  await expect.poll(() => readdir(join(cwd, ".troupe/versions/lists"))).toHaveLength(1);
  await expect.poll(() => keptIn(cwd)).not.toContain("lib-old");
});

test("a file that is written while a version is kept is kept as it was read first", async () => {
  const cwd = await createProject({ "agents/order.ts": "" });
  await write(cwd, { ...filesSaying("one"), "serve.log": "" });
  const store = fsVersions(join(cwd, ".troupe/versions"));
  const keep: typeof store.keep = async (version, read) => {
    await writeFile(join(cwd, "serve.log"), "a warning of the start");
    await store.keep(version, read);
  };
  const file = join(cwd, "agents/order.ts");
  const agent = defineAgent({ name: "order", purpose: "Orders.", chat: () => Promise.resolve("") });
  await keepCode({
    files: new Map([[agent, file]]),
    folder: cwd,
    store: { ...store, keep },
    directory: join(cwd, ".troupe"),
    warn: () => {},
  });
  const [version] = await store.list();
  expect(String(await store.read(version?.files["serve.log"] ?? ""))).toBe("");
});

test(
  "hidden, ignored and linked files are not kept, nor anything that may be a secret",
  { tags: "long" },
  async () => {
    const cwd = await createProject({});
    await write(cwd, {
      ...filesSaying("old"),
      ".env": "KEY=of-env",
      ".gitignore": "private/\n*.local.json\n!kept.local.json\n",
      "server.pem": "of-pem",
      "client_secret.json": '"of-secret"',
      "a.local.json": '"of-local"',
      "kept.local.json": '"of-kept-local"',
      "agents/prod.env": "KEY=of-prod",
    });
    await mkdir(join(cwd, "private"));
    await writeFile(join(cwd, "private/note.txt"), "of-private");
    await symlink("/etc/hostname", join(cwd, "linked.txt"));
    const served = await serve(cwd);
    await served.ask();
    const kept = await keptIn(cwd);
    expect(kept).toContain("of-kept-local");
    expect(kept).toContain("prompt-old");
    for (const word of ["of-env", "of-pem", "of-secret", "of-local", "of-private", "of-prod"])
      expect(kept.replace("of-kept-local", "")).not.toContain(word);
    expect(kept).not.toContain((await readFile("/etc/hostname", "utf8")).trim());
    const [list = ""] = await readdir(join(cwd, ".troupe/versions/lists"));
    const { files } = JSON.parse(await readFile(join(cwd, ".troupe/versions/lists", list), "utf8")) as {
      readonly files: object;
    };
    expect(Object.keys(files).filter((path) => /node_modules|troupe|linked|^\./.test(path))).toEqual([]);
  },
);

test("code that git ignores is not kept, and the server says so", async () => {
  const cwd = await createProject({});
  await write(cwd, { ...filesSaying("old"), ".gitignore": "lib/words.ts\n" });
  const served = await serve(cwd);
  await served.ask();
  expect(served.command.output()).toMatch(/order\.ts is not kept: lib\/words\.ts is ignored by git/);
});

test("a kept version that cannot be loaded holds its turn with that reason", { tags: "long" }, async () => {
  const cwd = await createProject({});
  await mkdir(join(cwd, "node_modules/dependency"));
  await writeFile(join(cwd, "node_modules/dependency/index.js"), "");
  await write(cwd, { ...filesSaying("old"), "agents/order.ts": orderSaying("old", 'import "dependency";') });
  const first = await serve(cwd);
  const id = await first.ask();
  await first.stop();
  await rm(join(cwd, "node_modules/dependency"), { recursive: true });
  await write(cwd, filesSaying("new"));

  const second = await serve(cwd);
  expect(await second.answer(id)).toMatchObject({
    status: "held",
    held: {
      code: "nondeterministic",
      message: expect.stringMatching(
        /its kept version sha256:[0-9a-f]{16} cannot be loaded: Cannot find package 'dependency'/,
      ) as string,
    },
  });
});

test(
  "a kept version whose files could not be read is read again when its turns are retried",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/order.ts": "" });
    await write(cwd, filesSaying("one"));
    const first = await serve(cwd);
    const id = await first.ask();
    await first.stop();
    await writeFile(join(cwd, "agents/order.ts"), orderSaying("two"));
    const kept = join(cwd, ".troupe/versions/files");
    const second = await serve(cwd);
    await rename(kept, `${kept}-away`);
    expect(await second.answer(id)).toMatchObject({
      status: "held",
      held: { message: expect.stringContaining("a kept file cannot be read") as string },
    });
    await rename(`${kept}-away`, kept);
    expect(await second.retry(id)).toMatchObject({ status: "completed", finish_reason: "success" });
    await second.stop();
  },
);

test("without kept versions a turn that the code does not fit is held", { tags: "long" }, async () => {
  const cwd = await createProject({});
  await write(cwd, filesSaying("old"));
  const first = await serve(cwd, "--no-keep-versions");
  const id = await first.ask();
  await first.stop();
  await write(cwd, filesSaying("new"));
  const second = await serve(cwd, "--no-keep-versions");
  expect(await second.answer(id)).toMatchObject({ status: "held" });
  await expect(readdir(join(cwd, ".troupe/versions"))).rejects.toMatchObject({ code: "ENOENT" });
});
