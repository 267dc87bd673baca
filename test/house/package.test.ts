import { existsSync, readFileSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

interface LockEntry {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** True for a link to a folder of this repository. */
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, "../..");
const text = readFileSync(join(root, "package-lock.json"), "utf8");
const { "": own, ...packages } = (JSON.parse(text) as { readonly packages: Record<string, LockEntry> })
  .packages;
/** What a registry serves: all but links and the folders that they lead to. */
const registered = Object.entries(packages).filter(
  ([path, { link = false }]) => !link && path.includes("node_modules/"),
);
const core = findCore(own?.dependencies ?? {});

test("the lock file holds no download address", () => {
  expect(registered.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  expect(text).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});

test("every package that is installed here has a checksum", () => {
  const installed = registered.filter(([path]) => existsSync(join(root, path)));
  const open = installed.filter(([, { integrity }]) => integrity === undefined);
  expect(installed.length).toBeGreaterThan(core.size);
  expect(open).toEqual([]);
});

test("the lock file names the binaries of every platform", () => {
  const names = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, "")));
  const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies),
  );
  expect(wanted.filter((name) => !names.has(name))).toEqual([]);
});

test("no package of a core installation runs a script when it is installed", () => {
  expect([...core].filter((path) => packages[path]?.hasInstallScript === true)).toEqual([]);
});

test("a core installation is at most 30 packages", () => {
  expect(core.size + 1).toBeLessThanOrEqual(30);
});

test("a core installation is at most 25 MB", async () => {
  let bytes = (await sizeOf(join(root, "dist"))) + (await sizeOf(join(root, "src")));
  for (const path of core) bytes += await sizeOf(join(root, path));
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(bytes).toBeLessThanOrEqual(25_000_000);
});

/** All direct and indirect dependencies of this package. */
function findCore(dependencies: Readonly<Record<string, string>>): Set<string> {
  const found = new Set<string>();
  const visit = (names: readonly string[], from: string): void => {
    for (const name of names) {
      const path = locate(name, from);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      visit(Object.keys(packages[path]?.dependencies ?? {}), `${path}/`);
    }
  };
  visit(Object.keys(dependencies), "");
  return found;
}

/** Resolves a package as Node does: in the nearest node_modules, then further up. */
function locate(name: string, from: string): string | undefined {
  const path = `${from}node_modules/${name}`;
  if (packages[path] !== undefined) return path;
  if (from === "") return undefined;
  return locate(name, from.replace(/node_modules\/(@[^/]+\/)?[^/]+\/$/, ""));
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
