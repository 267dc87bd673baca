import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Plugin } from "vite";
import { prepareWith } from "../src/cli/dev/dev.ts";

/**
 * `npm start`: serves agents/ from the sources. Node runs them as they are, so no server code is compiled, and none can be
 * older than its source. Only the console needs a build, when one of the files that its last build has read is another now; it is
 * built while the server loads.
 */
const root = resolve(import.meta.dirname, "..");

/** The hashes of those files by path. Every build empties this folder first, so they are those of the files beside it. */
const record = join(root, "dist/console/inputs.json");

if (!isCurrent()) {
  prepareWith(() =>
    buildConsole().catch((thrown: unknown) => {
      console.error(thrown);
      process.exit(1);
    }),
  );
}
process.argv.splice(2, 0, "dev");
// The packages of all protocols are installed here.
if (!process.argv.some((argument) => argument.startsWith("--wires")) && process.env["WIRES"] === undefined) {
  const { WIRES } = await import("../src/cli/serve/wires.ts");
  process.argv.push(`--wires=${WIRES.join(",")}`);
}
await import("../src/cli/main.ts");

function isCurrent(): boolean {
  try {
    const hashes = JSON.parse(readFileSync(record, "utf8")) as Readonly<Record<string, string>>;
    return Object.entries(hashes).every(([path, hash]) => hashOf(path) === hash);
  } catch {
    // There is no build, or a file that it has read is gone.
    return false;
  }
}

async function buildConsole(): Promise<void> {
  const { createBuilder } = await import("vite");
  const startedAt = Date.now();
  const inputs = new Set([
    // The lockfile says what the packages are.
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    ...globSync("src/console/**/*.*", { cwd: root }),
  ]);
  const plugin: Plugin = {
    name: "inputs",
    buildEnd() {
      for (const id of this.getModuleIds()) {
        const path = relative(root, id);
        if (/^src\b[^?]*$/.test(path)) inputs.add(path);
      }
    },
  };
  const builder = await createBuilder({
    root: join(root, "src/console"),
    configFile: join(root, "vite.config.ts"),
    plugins: [plugin],
  });
  const { client } = builder.environments;
  if (client === undefined) throw new Error("vite.config.ts has no environment for browsers");
  await builder.build(client);
  // A file that changed during the build may not be in it; without a record the next start builds again.
  if ([...inputs].some((path) => statSync(join(root, path)).mtimeMs >= startedAt)) return;
  writeFileSync(record, JSON.stringify(Object.fromEntries([...inputs].map((path) => [path, hashOf(path)]))));
}

function hashOf(path: string): string {
  return createHash("sha256")
    .update(readFileSync(join(root, path)))
    .digest("base64url");
}
