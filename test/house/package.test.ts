import { existsSync, readFileSync } from "node:fs";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, run } from "./packed.ts";

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

test("an installation has 14 packages", () => {
  expect(core.size + 1).toBe(14);
});

test("an installation is at most 25 MB", { tags: "long" }, async () => {
  const packed = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], root);
  const [{ unpackedSize }] = Object.values(JSON.parse(packed)) as [{ readonly unpackedSize: number }];
  let bytes = unpackedSize;
  for (const path of core) bytes += await sizeOf(join(root, path));
  expect(unpackedSize).toBeGreaterThan(5_000_000);
  expect(bytes).toBeLessThanOrEqual(25_000_000);
});

test("the libraries that are bundled into the command line are there with their licenses", async () => {
  const vendor = join(root, "dist/cli/vendor");
  const licenses = await readFile(join(vendor, "licenses.md"), "utf8");
  for (const [file, library] of [
    ["commander.js", "commander"],
    ["clack.js", "@clack/prompts"],
  ] as const) {
    expect(licenses).toContain(`## ${library} - ${packages[`node_modules/${library}`]?.version} (MIT)`);
    const imports = [...(await readFile(join(vendor, file), "utf8")).matchAll(/^import .* from "(.*)";$/gm)];
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.filter(([, from]) => from?.startsWith("node:") !== true)).toEqual([]);
  }
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
