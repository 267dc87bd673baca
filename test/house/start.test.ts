import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProgram } from "../cli/command.ts";

const root = resolve(import.meta.dirname, "../..");

test(
  "npm start compiles nothing in an unchanged tree, and serves what has changed",
  { tags: "long" },
  async () => {
    const clone = await createFolder();
    for (const name of [".ci", "src", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"])
      await cp(join(root, name), join(clone, name), { recursive: true });
    await symlink(join(root, "node_modules"), join(clone, "node_modules"));
    await mkdir(join(clone, "agents"));
    await writeFile(join(clone, "agents/one.ts"), AGENT);
    // A file outside of the console that it imports.
    const imported = join(clone, "src/view/imported.ts");
    await writeFile(imported, 'document.documentElement.dataset["word"] = "first";\n');
    await replace(join(clone, "src/console/main.tsx"), "import ", 'import "../view/imported.ts";\nimport ');
    const page = join(clone, "dist/console/index.html");

    expect(await start(clone)).toContain("<title>troupe</title>");
    // Only the console is built.
    expect(await readdir(join(clone, "dist"))).toEqual(["console"]);
    const built = await stat(page);
    expect(await start(clone)).toContain("<title>troupe</title>");
    expect(await stat(page)).toMatchObject({ ino: built.ino, mtimeMs: built.mtimeMs });

    await replace(join(clone, "src/console/index.html"), "<title>troupe<", "<title>changed<");
    expect(await start(clone)).toContain("<title>changed</title>");
    // The imported file, and one of the server.
    await replace(imported, "first", "second");
    await replace(join(clone, "src/cli/serve/banner.ts"), "agents        $", "the agents    $");
    const from = (await stat(page)).mtimeMs;
    await start(clone, /^the agents {4}one/m);
    expect((await stat(page)).mtimeMs).toBeGreaterThan(from);
    await rm(imported);
    const broken = startStart(clone);
    await broken.match(/imported/);
    expect(await broken.exited).not.toBe(0);
  },
);

test("a build leaves nothing of a source file that is gone, no declaration that no entry leads to, and no source map", async () => {
  const folder = await createFolder();
  await mkdir(join(folder, "src/room"), { recursive: true });
  await mkdir(join(folder, "dist/room"), { recursive: true });
  await mkdir(join(folder, "dist/console/console"), { recursive: true });
  const entry = { types: "./dist/room/entry.d.ts" };
  await writeFile(join(folder, "package.json"), JSON.stringify({ exports: { ".": entry } }));
  for (const name of ["entry", "inner", "kept"]) await writeFile(join(folder, `src/room/${name}.ts`), "");
  for (const name of ["entry", "inner", "kept", "gone"])
    for (const end of [".js", ".js.map", ".d.ts", ".d.ts.map"])
      await writeFile(join(folder, "dist/room", name + end), "");
  await writeFile(join(folder, "dist/room/entry.d.ts"), 'export type { Kept } from "./kept.ts";\n');
  await writeFile(join(folder, "dist/console/console/main-1a2b.js"), "");
  execFileSync(process.execPath, [join(root, ".ci/prune-dist.ts")], { cwd: folder });
  expect(await readdir(join(folder, "dist/room"))).toEqual([
    "entry.d.ts",
    "entry.js",
    "inner.js",
    "kept.d.ts",
    "kept.js",
  ]);
  expect(await readdir(join(folder, "dist/console/console"))).toEqual(["main-1a2b.js"]);

  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(scripts["build"]).toContain("node .ci/prune-dist.ts");
});

/** Runs `npm start` until it serves; gives the page of the console. */
async function start(clone: string, ready = /^wires/m): Promise<string> {
  const server = startStart(clone);
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  await server.match(ready);
  const page = await (await fetch(url, { headers: { accept: "text/html" } })).text();
  // The packages of all protocols are installed in the repository.
  const [card, tools] = await Promise.all([
    fetch(`${url}/.well-known/agent-card.json`),
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    }),
  ]);
  expect([card.status, tools.status]).toEqual([200, 200]);
  server.kill("SIGTERM");
  await server.exited;
  return page;
}

function startStart(clone: string) {
  return startProgram("npm", ["start", "--silent", "--", "--port=0"], { cwd: clone, hasGroup: true });
}

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-start-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function replace(path: string, before: string, after: string): Promise<void> {
  const text = await readFile(path, "utf8");
  expect(text).toContain(before);
  await writeFile(path, text.replace(before, after));
}

const AGENT = `import { defineAgent } from "troupe";
export const one = defineAgent({
  name: "one",
  purpose: "Says one.",
  async chat(_input, turn) { await turn.text("one"); },
});
`;
