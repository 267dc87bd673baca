import { defineConfig } from "vite";

/** Builds the console: its page in dist/console, everything that the page loads below it. */
export default defineConfig({
  root: "src/console",
  // The page is served under any prefix, so its links are relative.
  base: "./",
  logLevel: "error",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2024",
    outDir: "../../dist/console",
    emptyOutDir: true,
    assetsDir: "console",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
});
