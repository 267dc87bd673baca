import { join } from "node:path";
import { defineConfig } from "vite";

const vendor = join(import.meta.dirname, "src/cli/vendor");

/**
 * Builds what npm does not install with the package: the console with its libraries in dist/console, and the libraries
 * of the command line in dist/cli/vendor.
 */
export default defineConfig({
  logLevel: "error",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  root: "src/console",
  // The page is served under any prefix, so its links are relative.
  base: "./",
  builder: {},
  environments: {
    client: {
      build: {
        target: "es2024",
        outDir: "../../dist/console",
        emptyOutDir: true,
        assetsDir: "console",
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        license: { fileName: "licenses.md" },
      },
    },
    cli: {
      consumer: "server",
      resolve: { noExternal: true },
      build: {
        target: "node22",
        outDir: "../../dist/cli/vendor",
        // tsc has written its declarations there.
        emptyOutDir: false,
        rolldownOptions: {
          input: { clack: join(vendor, "clack.ts"), commander: join(vendor, "commander.ts") },
          output: { entryFileNames: "[name].js" },
        },
        license: { fileName: "licenses.md" },
      },
    },
  },
});
