import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";
import type { EnvironmentOptions, Plugin } from "vite";

/**
 * Builds what npm does not install with the package: the console with its libraries in dist/console, the client of pages
 * without a bundler in dist/client/browser.js, and some
 * libraries in the folder vendor/ of the part that uses them.
 */
export default defineConfig({
  logLevel: "error",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  root: "src/console",
  // The page is served under any prefix, so its links are relative.
  base: "./",
  builder: {},
  plugins: [apacheOnce()],
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
        // One file for the first load, and one for what several later parts share: many small ones together are larger, because each
        // is compressed by itself and takes a block of the disk.
        rolldownOptions: {
          output: {
            codeSplitting: {
              groups: [
                { name: "first", tags: ["$initial"] },
                { name: "shared", minShareCount: 2, test: /src\/(?!console\/(?:chart|parts\/markdown)\/)/ },
              ],
            },
          },
        },
      },
    },
    // One module for pages without a bundler, in the place of what the compiler made of its entry.
    browser: {
      consumer: "client",
      build: {
        target: "es2024",
        outDir: "../../dist/client",
        emptyOutDir: false,
        modulePreload: { polyfill: false },
        rolldownOptions: {
          input: { browser: join(import.meta.dirname, "src/client/browser.ts") },
          preserveEntrySignatures: "strict",
          output: { entryFileNames: "[name].js" },
        },
      },
    },
    cli: bundle("cli/vendor", ["clack", "commander"]),
    http: bundle("http/vendor", ["prom-client"]),
    node: bundle("node/vendor", ["ignore"]),
  },
});

/** Names the Apache License, whose text is the LICENSE of this package, instead of repeating it for each library. */
function apacheOnce(): Plugin {
  const text = /^ *Apache License\s+Version 2\.0,(?:(?!## ).*\n)*?.*limitations under the License\.$/gm;
  const named = (whole: string): string => /^ *Copyright (?!\[).*\n/m.exec(whole)?.[0].trimStart() ?? "";
  return {
    name: "apache-once",
    writeBundle({ dir = "" }) {
      const path = join(dir, "licenses.md");
      if (!existsSync(path)) return;
      const licenses = readFileSync(path, "utf8");
      writeFileSync(
        path,
        licenses.replaceAll(text, (whole) => `${named(whole)}Its text is the file LICENSE of this package.`),
      );
    },
  };
}

/** Builds files of a folder, each together with the library that it exports. */
function bundle(folder: string, names: readonly string[]): EnvironmentOptions {
  const files = names.map((name) => [name, join(import.meta.dirname, "src", folder, `${name}.ts`)]);
  return {
    consumer: "server",
    resolve: { noExternal: true },
    build: {
      target: "node22",
      outDir: `../../dist/${folder}`,
      // tsc has written its declarations there.
      emptyOutDir: false,
      rolldownOptions: {
        input: Object.fromEntries(files) as Readonly<Record<string, string>>,
        // Functions and classes keep their names, which errors show; what is not needed to run is left out.
        output: {
          entryFileNames: "[name].js",
          minify: {
            compress: { keepNames: { function: true, class: true } },
            mangle: { keepNames: true },
            codegen: { removeWhitespace: true },
          },
        },
      },
      license: { fileName: "licenses.md" },
    },
  };
}
