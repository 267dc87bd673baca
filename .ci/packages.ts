/**
 * Installs the packages that `npm ci` leaves out: those of the workspaces, which only tests and `npm run check` use. What is there
 * already stays, and the lock file says which versions. `npm ci` leaves them out by `workspaces=false` in .npmrc.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

if (import.meta.main) install();

/** Installs the packages, and returns the names of those that cannot be had now, for example without a network. */
export function findMissing(): readonly string[] {
  try {
    install();
  } catch (thrown) {
    console.error(`not all packages of the tests could be installed: ${String(thrown)}`);
  }
  return missing();
}

function install(): void {
  if (missing().length === 0) return;
  console.log("installing the packages of the tests and checks …");
  const options = ["--include-workspace-root", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["install", "--workspaces", ...options], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
}

/** The packages of the workspaces that are neither in the folder of the workspace nor in that of the repository. */
function missing(): readonly string[] {
  return (read("package.json").workspaces ?? []).flatMap((workspace) =>
    Object.entries(read(workspace, "package.json").devDependencies ?? {})
      .filter(([name, version]) => [workspace, ""].every((folder) => versionOf(folder, name) !== version))
      .map(([name]) => name),
  );
}

interface Manifest {
  readonly version?: string;
  readonly workspaces?: readonly string[];
  readonly devDependencies?: Readonly<Record<string, string>>;
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
