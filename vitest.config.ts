import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { SkippedReporter } from "./test/machine/skipped-reporter.ts";
import { SlowFirst } from "./test/machine/slow-first.ts";
import { tags } from "./test/machine/tags.ts";

export default defineConfig({
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/machine/postgres-setup.ts",
    reporters: ["default", new SkippedReporter()],
    env: {
      // The agents use their scripted models, also on a machine whose environment names a model.
      OPENAI_API_KEY: "",
      TROUPE_MODEL_URL: "",
      // Hundreds of processes are started; each of them would compile the same modules again.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/troupe-tests"),
    },
    // The files that a worker runs share its modules and globals, so a test undoes what it changes of them. Loading the
    // modules again for each file took a fourth of the time.
    isolate: false,
    // The tests wait for servers half of the time, so two files more than there are cores run at once.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: SlowFirst },
    tags,
    // Far more than any test takes, so that a loaded machine fails no test.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
