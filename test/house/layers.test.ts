import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** A file that breaks one rule, and the rule. */
const wrong: readonly (readonly [rule: string, file: string, content: string])[] = [
  ["no-restricted-imports", "src/shared/up.ts", 'import type { A } from "../protocol/json.ts";'],
  ["no-restricted-globals", "src/shared/time.ts", "setTimeout(() => {}, 1);"],
  ["no-restricted-properties", "src/shared/chance.ts", "export const one: number = Math.random();"],
  ["no-restricted-imports", "src/protocol/up.ts", 'export type { A } from "../errors.ts";'],
  ["no-restricted-imports", "src/errors.ts", 'import "./runtime/a.ts";'],
  ["no-restricted-imports", "src/ports/up.ts", 'import "../runtime/a.ts";'],
  ["no-restricted-imports", "src/runtime/engine.ts", 'import "../storage/memory-log.ts";'],
  ["no-restricted-imports", "src/runtime/wire.ts", 'import type { A } from "../http/app.ts";'],
  ["no-restricted-imports", "src/runtime/files.ts", 'export const fs: unknown = import("node:fs");'],
  ["no-restricted-imports", "src/runtime/package.ts", 'import "hono";'],
  [
    "no-restricted-imports",
    "src/runtime/deep/wire.ts",
    'import "../../http/app.ts";\nimport "../../view/segment.ts";',
  ],
  ["no-restricted-imports", "src/storage/memory.ts", 'import "node:fs";'],
  ["no-restricted-imports", "src/storage/wire.ts", 'import "../http/app.ts";'],
  ["no-restricted-imports", "src/storage/sqlite/wire.ts", 'import "../../node/serve.ts";'],
  ["no-restricted-imports", "src/http/engine.ts", 'import "../storage/memory-log.ts";'],
  ["no-restricted-imports", "src/http/node.ts", 'import "node:http";'],
  ["no-restricted-imports", "src/adapters/a/other.ts", 'import "../b/routes.ts";'],
  ["no-restricted-imports", "src/adapters/a/node.ts", 'import "../../node/serve.ts";'],
  ["no-restricted-imports", "src/adapters/a/engine.ts", 'import "../../storage/memory/log.ts";'],
  ["no-restricted-imports", "src/http/wire.ts", 'import "../adapters/a/routes.ts";'],
  ["no-restricted-imports", "src/view/wire.ts", 'import "../http/app.ts";'],
  ["no-restricted-imports", "src/runtime/shown.ts", 'import "../view/segment.ts";'],
  ["no-restricted-imports", "src/llm/wire.ts", 'import "../http/app.ts";'],
  ["no-restricted-imports", "src/runtime/model.ts", 'export const ai: unknown = import("ai");'],
  ["no-restricted-imports", "src/adapters/aip/wire/up.ts", 'import "../gateway/gateway.ts";'],
  ["no-restricted-imports", "src/adapters/aip/wire/next.ts", 'import "../../tasks/index.ts";'],
  ["no-restricted-imports", "src/adapters/tasks/grpc.ts", 'import "@grpc/grpc-js";'],
  ["no-restricted-imports", "src/node/engine.ts", 'import "../storage/sqlite/index.ts";'],
  ["no-restricted-imports", "src/node/cli.ts", 'import "../cli/main.ts";'],
  ["no-restricted-imports", "src/cli/library.ts", 'import "commander";'],
  ["no-restricted-imports", "agents/inside.ts", 'import "../src/index.ts";'],
  ["no-cycle", "src/runtime/a.ts", 'import { b } from "./b.ts";\nexport const a = (): unknown => b;'],
  ["no-barrel", "src/runtime/all.ts", 'export { b } from "./b.ts";'],
  ["no-barrel", "src/http/all.ts", 'export * from "./b.ts";'],
  ["no-restricted-globals", "src/runtime/time.ts", "setTimeout(() => {}, 1);"],
  ["no-restricted-properties", "src/runtime/now.ts", "export const now: number = Date.now();"],
  ["no-floating-promises", "src/node/late.ts", "async function f(): Promise<void> {}\nf();"],
  [
    "no-misused-promises",
    "src/node/check.ts",
    "export function g(p: Promise<boolean>): void {\n  if (p) return;\n}",
  ],
  [
    "switch-exhaustiveness-check",
    "src/node/switch.ts",
    'export function h(a: "x" | "y"): void {\n  switch (a) {\n    case "x":\n      return;\n  }\n}',
  ],
];

/** Files that follow all rules. */
const right: readonly (readonly [file: string, content: string])[] = [
  ["src/runtime/b.ts", 'import { a } from "./a.ts";\nexport const b = (): unknown => a;'],
  ["src/shared/right.ts", "export const a = 1;"],
  ["src/storage/sqlite/writer/shared.ts", 'import "../../../shared/right.ts";'],
  ["src/runtime/deep/fine.ts", 'import "../right.ts";\nimport "../../ports/router.ts";\nimport "xstate";'],
  [
    "src/runtime/right.ts",
    'import type { A } from "@standard-schema/spec";\nexport const a: A | undefined = undefined;',
  ],
  ["src/storage/sqlite/right.ts", 'import "node:sqlite";\nimport "../../ports/event-log.ts";'],
  ["src/storage/fs/artifacts.ts", 'import "node:fs";'],
  ["src/http/index.ts", 'export { b } from "./right.ts";'],
  ["src/view/right.ts", 'import "../runtime/api.ts";'],
  ["src/adapters/a/right.ts", 'import "../../http/app.ts";\nimport "../../runtime/api.ts";\nimport "hono";'],
  ["src/adapters/a/index.ts", 'export { a } from "./routes.ts";'],
  ["src/llm/right.ts", 'import "../ports/model.ts";\nexport const ai: unknown = import("ai");'],
  [
    "src/adapters/aip/session/right.ts",
    'import "../wire/codec.ts";\nimport "../../../runtime/api.ts";\nimport "@grpc/grpc-js";',
  ],
  ["src/http/right.ts", 'import "hono/streaming";\nexport const b = 1;'],
  [
    "src/cli/right.ts",
    'import "./vendor/commander.ts";\nimport "node:fs/promises";\nimport "../storage/sqlite/index.ts";',
  ],
  ["src/cli/vendor/commander.ts", 'export { Command } from "commander";'],
];

let folder: string;
let broken: ReadonlyMap<string, readonly string[]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "troupe-lint-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  for (const file of ["oxlint.config.ts", "tsconfig.json", "package.json", "test/house/lint-plugin.ts"]) {
    await cp(join(root, file), join(folder, file));
  }
  for (const [file, content] of [...right, ...wrong.map(([, file, content]) => [file, content] as const)]) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), `${content}\n`);
  }
  broken = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(wrong)("%s fails on %s", (rule, file) => {
  expect(broken.get(file)).toContain(rule);
});

test.each(right)("%s keeps the layers", (file) => {
  expect(
    broken.get(file)?.filter((rule) => rule.startsWith("no-restricted") || rule === "no-barrel") ?? [],
  ).toEqual([]);
});

test("nothing native knows an adapter", async () => {
  const adapters = ["a2a", "acp", "ag-ui", "agentscope", "agentic", "aip", "ap/v1", "chat/completions"];
  const named = new RegExp(`\\b(${adapters.join("|")})\\b|/adapters/`, "i");
  const folders = ["protocol", "ports", "runtime", "view", "storage", "http", "client"];
  const files = (
    await Promise.all(folders.map((name) => readdir(join(root, "src", name), { recursive: true })))
  ).flatMap((paths, index) => paths.map((path) => join(root, "src", folders[index] ?? "", path)));
  const sources = files.filter((file) => file.endsWith(".ts"));
  expect(sources.length).toBeGreaterThan(200);
  const texts = await Promise.all(sources.map(async (file) => [file, await readFile(file, "utf8")] as const));
  expect(texts.filter(([, text]) => named.test(text)).map(([file]) => file)).toEqual([]);
});

/** Runs the linter in a folder and returns the broken rules of each file. */
async function lint(cwd: string): Promise<Map<string, string[]>> {
  const bin = join(root, "node_modules/.bin");
  const output = await promisify(execFile)(join(bin, "oxlint"), ["--format=json"], {
    cwd,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: unknown) => error as { readonly stdout: string });
  const { diagnostics } = JSON.parse(output.stdout) as {
    readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
  };
  const rules = new Map<string, string[]>();
  for (const { code, filename } of diagnostics) {
    const rule = /\(([^)]*)\)/.exec(code)?.[1] ?? code;
    rules.set(filename, [...(rules.get(filename) ?? []), rule]);
  }
  return rules;
}
