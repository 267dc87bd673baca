/** @module-tag long */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { TEMPLATES } from "../../src/cli/init/templates.ts";
import { startCommand } from "./command.ts";
import { shortened } from "../machine/long.ts";

const root = resolve(import.meta.dirname, "../..");

test.each(shortened(Object.keys(TEMPLATES), 1))(
  "the %s project passes its own test and its type check, and serves its agent",
  async (template) => {
    const parent = await createFolder();
    const args = ["init", "my-agents", "-y", "--no-install", "--template", template];
    expect(await startCommand(args, { cwd: parent }).exited).toBe(0);

    const project = join(parent, "my-agents");
    await linkOwnPackage(project);
    expect(await runIn(project, process.execPath, ["--test"])).toMatch(/^. pass 1$/m);
    await runIn(project, join(root, "node_modules/.bin/tsc"), []);

    const server = startCommand(["serve", "--port=0"], { cwd: project });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    const listed = (await (await fetch(url)).json()) as readonly { readonly name: string }[];
    const { agent } = TEMPLATES[template as keyof typeof TEMPLATES];
    expect(listed.map(({ name }) => name)).toContain(agent);
  },
);

test("a project has a repository, a file for coding agents, and no word left to fill in", async () => {
  const project = await createFolder();
  expect(await startCommand(["init", "-y", "--no-install", "--name", "post"], { cwd: project }).exited).toBe(
    0,
  );

  expect((await readdir(project)).sort()).toEqual([
    ".dockerignore",
    ".git",
    ".github",
    ".gitignore",
    "AGENTS.md",
    "Dockerfile",
    "README.md",
    "agents",
    "compose.yaml",
    "package.json",
    "test",
    "tsconfig.json",
  ]);
  expect(JSON.parse(await readFile(join(project, "package.json"), "utf8"))).toMatchObject({
    name: "post",
    scripts: { dev: "troupe dev", start: "troupe serve", test: "node --test" },
  });
  for (const name of ["README.md", "AGENTS.md", "Dockerfile"]) {
    expect(await readFile(join(project, name), "utf8")).not.toMatch(/\{\{|\}\}/);
  }
});

test("the commands that come next work in a directory whose name has a space", async () => {
  const parent = await createFolder();
  const init = startCommand(["init", "my agents", "-y", "--no-install"], { cwd: parent });
  await expect(init.match(/^ {2}cd "my agents"$/m)).resolves.toBeTruthy();
});

test("without a terminal nothing is asked if all is said, and --install runs npm", async () => {
  const parent = await createFolder();
  const npm = join(parent, "bin/npm");
  await mkdir(join(parent, "bin"));
  await writeFile(npm, '#!/bin/sh\necho "$@" > installed\n', { mode: 0o755 });
  const init = startCommand(["init", "shop", "--template", "chat", "--install"], {
    cwd: parent,
    env: { PATH: `${join(parent, "bin")}:${process.env["PATH"]}` },
  });
  expect(await init.exited).toBe(0);
  expect(await readFile(join(parent, "shop/installed"), "utf8")).toMatch(/^install /);
});

test("a directory that npm has installed the package into becomes the project", async () => {
  const project = await createFolder();
  await mkdir(join(project, "node_modules"));
  await writeFile(join(project, "package.json"), '{ "dependencies": { "troupe": "file:../troupe.tgz" } }');
  expect(await startCommand(["init", "-y", "--no-install"], { cwd: project }).exited).toBe(0);

  expect(JSON.parse(await readFile(join(project, "package.json"), "utf8"))).toMatchObject({
    dependencies: { troupe: "file:../troupe.tgz" },
    scripts: { dev: "troupe dev" },
  });
});

test("a directory that holds something stays as it is", async () => {
  const project = await createFolder();
  await writeFile(join(project, "notes.txt"), "mine");
  const init = startCommand(["init", ".", "-y"], { cwd: project });
  expect(await init.exited).toBe(2);
  expect(init.output()).toContain("is not empty: it has notes.txt");
  expect(await readdir(project)).toEqual(["notes.txt"]);
});

test("without a terminal the questions are an error that names the options", async () => {
  const init = startCommand(["init"], { cwd: await createFolder() });
  expect(await init.exited).toBe(2);
  expect(init.output()).toContain("use -y");
});

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-init-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const PACKAGES = [
  "zod",
  "xstate",
  "@types/node",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
];

/** Lets the project import troupe: a folder that links the repository's packages and the repository itself. */
async function linkOwnPackage(project: string): Promise<void> {
  for (const scope of ["@types", "@modelcontextprotocol"])
    await mkdir(join(project, "node_modules", scope), { recursive: true });
  for (const name of PACKAGES) {
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  await symlink(root, join(project, "node_modules/troupe"));
}

async function runIn(cwd: string, program: string, args: readonly string[]): Promise<string> {
  // Node's own runner tells a test by this variable that it is a part of another.
  const env = { ...process.env };
  delete env["NODE_TEST_CONTEXT"];
  try {
    return (await promisify(execFile)(program, args, { cwd, env })).stdout;
  } catch (cause) {
    const { stdout, stderr } = cause as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${program} ${args.join(" ")}:\n${stdout}${stderr}`, { cause });
  }
}
