/** @module-tag long */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { SCHEMA_VERSION } from "../../src/storage/postgres/schema/migrate.ts";
import { skipWithoutGit } from "../machine/skip-without.ts";
import { findFormer, LIST, schemaIn } from "./former.ts";

beforeEach(({ skip }) => {
  if (spawnSync("git", ["--version"]).status !== 0) skipWithoutGit(skip);
});

test("the schema of a commit is the number of changes that its list has", () => {
  const text = readFileSync(join(resolve(import.meta.dirname, "../.."), LIST), "utf8");
  expect(schemaIn(text)).toBe(SCHEMA_VERSION);
  expect(() => schemaIn("export const CHANGES = [];")).toThrow("are not found");
});

test("the former version is the last commit whose schema is older, also if the newest change is several", async () => {
  const folder = newFolder();
  git(folder, "init", "--quiet");
  commit(folder, ["TABLES"]);
  const former = commit(folder, ["TABLES", "OWNERS + AUDIT"]);
  commit(folder, ["TABLES", "OWNERS + AUDIT", "SPENT", "RECENT"]);
  commit(folder, ["TABLES", "OWNERS + AUDIT", "SPENT", "SHARDS"]);
  expect(await findFormer(folder)).toEqual({ commit: former, schema: 2 });

  // A clone that is cut off behind it has it, one that is cut off before has not.
  const clones = newFolder();
  for (const depth of [2, 3]) {
    const clone = join(clones, String(depth));
    git(clones, "clone", "--quiet", `--depth=${depth}`, `file://${folder}`, clone);
    expect([depth, await findFormer(clone)]).toEqual([
      depth,
      depth === 3 ? { commit: former, schema: 2 } : undefined,
    ]);
  }
});

test("there is none in a copy without a history, and in a history with one schema; without git it is a failure", async () => {
  const folder = newFolder();
  write(folder, ["TABLES"]);
  expect(await findFormer(folder)).toBeUndefined();
  git(folder, "init", "--quiet");
  commit(folder, ["TABLES"]);
  commit(folder, ["TABLES_AGAIN"]);
  expect(await findFormer(folder)).toBeUndefined();
  rmSync(join(folder, ".git/HEAD"));
  await expect(findFormer(folder)).rejects.toThrow("not a git repository");
});

/** Commits a list of changes; returns the name of the commit. */
function commit(folder: string, changes: readonly string[]): string {
  write(folder, changes);
  git(folder, "add", "--all");
  git(folder, "-c", "user.name=troupe", "-c", "user.email=troupe@localhost", "commit", "--quiet", "-m", "x");
  return git(folder, "rev-parse", "HEAD").trim();
}

function write(folder: string, changes: readonly string[]): void {
  const path = join(folder, LIST);
  mkdirSync(dirname(path), { recursive: true });
  const list = changes.map((change) => `  ${change},\n`).join("");
  writeFileSync(path, `export const MIGRATIONS: readonly string[] = [\n${list}];\n`);
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    // Without the settings of this machine.
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  });
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "troupe-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
