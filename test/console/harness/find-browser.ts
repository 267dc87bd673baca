import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The browser named by `CHROMIUM`, or one with a usual name in the PATH. */
export function findBrowser(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined) return [named].find(existsSync);
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
}
