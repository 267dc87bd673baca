import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * Removes from dist/ what the compiler made of files that are no longer in src/: it only writes files, and a module that is
 * gone would still be found there. Vite empties the folder of the console itself.
 */
for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  const path = relative("dist", join(entry.parentPath, entry.name));
  const [, source] = /^(?!console\b)(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(path) ?? [];
  if (source === undefined || existsSync(join("src", `${source}.ts`))) continue;
  rmSync(join("dist", path));
}
