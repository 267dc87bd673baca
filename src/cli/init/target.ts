import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { EXIT, Exit } from "../exit.ts";

/** Throws if a project cannot be written into a directory without changing existing files. */
export function checkTarget(directory: string): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) {
    throw new Exit(EXIT.usage, `${directory} is a file`, ANOTHER);
  }
  const found = readdirSync(directory).find((name) => !isLeftByInstall(directory, name));
  if (found === undefined) return;
  throw new Exit(EXIT.usage, `${directory} is not empty: it has ${found}`, ANOTHER);
}

/** Whether a directory can get a project. */
export function isFree(directory: string): boolean {
  try {
    checkTarget(directory);
    return true;
  } catch {
    return false;
  }
}

const ANOTHER = "name a new directory: troupe init my-agents";

/** Whether a file is what `git init` or `npm install troupe` leaves in an empty directory. */
function isLeftByInstall(directory: string, name: string): boolean {
  if (name === "package.json") return hasOnlyDependencies(join(directory, name));
  return [".git", "node_modules", "package-lock.json"].includes(name);
}

function hasOnlyDependencies(path: string): boolean {
  try {
    const keys = Object.keys(JSON.parse(readFileSync(path, "utf8")) as object);
    return keys.every((key) => key === "dependencies");
  } catch {
    return false;
  }
}
