import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SkippedReporter } from "./test/machine/skipped-reporter.ts";

export default defineConfig({
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new SkippedReporter()],
    // The agents use their scripted models, also on a machine whose environment names a model.
    env: { OPENAI_API_KEY: "", TROUPE_MODEL_URL: "" },
    // The tests wait for servers half of the time, so one file more than there are cores runs at once.
    maxWorkers: availableParallelism() + 1,
    // Far more than any test takes, so that a loaded machine fails no test.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
