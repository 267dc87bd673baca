import { existsSync, readFileSync } from "node:fs";
import { readFile, readdir, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
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

test("the lock file holds no download address, but the name and version of each package", () => {
  const wrong = registered.filter(
    ([path, { version, resolved }]) => resolved !== `npm:${nameOf(path)}@${version}`,
  );
  expect(wrong).toEqual([]);
  expect(text).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});

test("every package that is installed here has a checksum", () => {
  const installed = registered.filter(([path]) => existsSync(join(root, path)));
  const open = installed.filter(([, { integrity }]) => integrity === undefined);
  expect(installed.length).toBeGreaterThan(core.size);
  expect(open).toEqual([]);
});

test("the lock file names the binaries of every platform", () => {
  const names = new Set(Object.keys(packages).map(nameOf));
  const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies),
  );
  expect(wanted.filter((name) => !names.has(name))).toEqual([]);
});

test("no package of a core installation runs a script when it is installed", () => {
  expect([...core].filter((path) => packages[path]?.hasInstallScript === true)).toEqual([]);
});

test("an installation has 9 packages", () => {
  expect(core.size + 1).toBe(9);
});

test("an installation takes at most 25 MB of disk", { tags: "long" }, async () => {
  const packed = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], root);
  const [{ files }] = Object.values(JSON.parse(packed)) as [{ readonly files: readonly PackedFile[] }];
  const folders = new Set(files.map(({ path }) => dirname(path)));
  let blocks = folders.size + files.reduce((sum, { size }) => sum + toBlocks(size), 0);
  expect(folders).toContain("dist/console");
  for (const path of core) blocks += await blocksOf(join(root, path));
  expect((blocks * BLOCK_BYTES) / 1024 ** 2).toBeLessThanOrEqual(25);
});

interface PackedFile {
  readonly path: string;
  readonly size: number;
}

test.each([
  ["cli", "commander.js", "commander", "MIT"],
  ["cli", "clack.js", "@clack/prompts", "MIT"],
  ["http", "prom-client.js", "prom-client", "Apache-2.0"],
  ["node", "ignore.js", "ignore", "MIT"],
])("dist/%s/vendor/%s is %s, with its license", async (folder, file, library, license) => {
  const vendor = join(root, "dist", folder, "vendor");
  const licenses = await readFile(join(vendor, "licenses.md"), "utf8");
  expect(licenses).toContain(`## ${library} - ${packages[`node_modules/${library}`]?.version} (${license})`);
  const code = await readFile(join(vendor, file), "utf8");
  const imports = [...code.matchAll(/^import .*? from ?"(.*?)";$/gm)].map(([, from = ""]) => from);
  expect(imports.filter((from) => !from.startsWith("node:"))).toEqual([]);
  const required = [...code.matchAll(/\brequire\("(.*?)"\)/g)].map(([, from = ""]) => from);
  expect(required.filter((from) => !isBuiltin(from))).toEqual([]);
});

/** The name of the package that is installed in a folder. */
function nameOf(path: string): string {
  return path.replace(/^.*node_modules\//, "");
}

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

/** What a file system gives to a file or folder at least, in bytes. */
const BLOCK_BYTES = 4_096;

function toBlocks(bytes: number): number {
  return Math.max(Math.ceil(bytes / BLOCK_BYTES), 1);
}

async function blocksOf(folder: string): Promise<number> {
  let blocks = 1;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    blocks += toBlocks((await stat(join(entry.parentPath, entry.name))).size);
  return blocks;
}
