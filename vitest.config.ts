import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["troupe-source"] },
  ssr: { resolve: { conditions: ["troupe-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    // The agents go by their scripts, whatever models there are on this machine.
    env: { OPENAI_API_KEY: "", TROUPE_MODEL_URL: "" },
    testTimeout: 15_000,
    hookTimeout: 30_000,
  },
});
