import { defineConfig } from "vitest/config";
import type { Plugin } from "vite";
import type { Mutant } from "./mutants.ts";
import { withMutant } from "./mutants.ts";
import { tags } from "../machine/tags.ts";

/** Puts the mutant of the environment into its file while that is loaded; no file is changed. */
function mutation(): Plugin {
  const given = process.env["TROUPE_MUTANT"];
  const mutant = given === undefined ? undefined : (JSON.parse(given) as Mutant);
  return {
    name: "mutation",
    enforce: "pre",
    transform: (source, id) =>
      mutant !== undefined && id.endsWith(`/${mutant.file}`) ? withMutant(source, mutant) : undefined,
  };
}

export default defineConfig({
  root: `${import.meta.dirname}/../..`,
  plugins: [mutation()],
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    env: { OPENAI_API_KEY: "", TROUPE_MODEL_URL: "", TROUPE_LAW_SEEDS: "8" },
    tags,
    isolate: false,
    // A mutant is not part of the key of that cache.
    fsModuleCache: false,
    bail: 1,
    maxWorkers: 2,
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
