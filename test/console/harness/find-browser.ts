import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The Chromium named by `CHROMIUM`, or one with a usual name in the PATH. */
export function findBrowser(): string | undefined {
  return findProgram("CHROMIUM", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]);
}

/** The program that a variable of the environment names, or the first of some names in the PATH. */
export function findProgram(variable: string, names: readonly string[]): string | undefined {
  const named = process.env[variable];
  if (named !== undefined) return [named].find(existsSync);
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
}
