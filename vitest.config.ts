import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    // The agents go by their scripts, whatever models there are on this machine.
    env: { OPENAI_API_KEY: "", TROUPE_MODEL_URL: "" },
    // Half of the time goes into waiting for servers, so every core takes a file, and one more is under way.
    maxWorkers: availableParallelism() + 1,
    // Far more than anything takes, so that a busy machine fails no test.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
