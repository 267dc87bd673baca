import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Bundles a program as a page would get it: the module that it loads first, minified. */
export async function bundle(program: string): Promise<string> {
  // The package refers to itself only from files within it.
  const entry = join(ROOT, "entry.ts");
  const built = await rolldown({
    input: entry,
    cwd: ROOT,
    platform: "browser",
    logLevel: "silent",
    resolve: { conditionNames: ["troupe-source", "import"] },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? program : null),
      },
    ],
  });
  const { output } = await built.generate({ format: "es", minify: true });
  return output[0].code;
}
