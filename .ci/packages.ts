/**
 * Installs the packages that `npm ci` leaves out: those of the workspaces, which only tests and `npm run check` use. What is there
 * already stays, and the lock file says which versions. `npm ci` leaves them out by `workspaces=false` in .npmrc.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

if (import.meta.main) install();

/** Vitest calls it before the tests. Without a registry, only the tests fail that import one of the packages. */
export function setup(): void {
  try {
    install();
  } catch (thrown) {
    console.error(`not all packages of the tests could be installed: ${String(thrown)}`);
  }
}

function install(): void {
  const { workspaces } = read("package.json");
  if (workspaces?.every(isInstalled) ?? true) return;
  console.log("installing the packages of the tests and checks …");
  const options = ["--include-workspace-root", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["install", "--workspaces", ...options], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
}

interface Manifest {
  readonly version?: string;
  readonly workspaces?: readonly string[];
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Whether all packages of a workspace are there, in its folder or in that of the repository. */
function isInstalled(workspace: string): boolean {
  const { devDependencies = {} } = read(workspace, "package.json");
  return Object.entries(devDependencies).every(([name, version]) =>
    [workspace, ""].some((folder) => versionOf(folder, name) === version),
  );
}

function versionOf(folder: string, name: string): string | undefined {
  try {
    return read(folder, "node_modules", name, "package.json").version;
  } catch {
    return undefined;
  }
}

function read(...path: readonly string[]): Manifest {
  return JSON.parse(readFileSync(join(root, ...path), "utf8")) as Manifest;
}
