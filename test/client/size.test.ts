import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

test.each([
  ["the client", 9, "createClient"],
  ["the client with views of runs", 14, "createClient, project"],
])("%s takes at most %d KiB, minified and compressed", async (_, limit, names) => {
  const code = await bundle(`export { ${names} } from "troupe/client";`);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(limit * 1_024);
  expect(code).not.toContain("node:");
  expect(code).not.toMatch(/\bfrom\s*[`"']/);
});

test("the client of pages without a bundler is one module of at most 14 KiB, with nothing of the schemas and schedules of a server", async () => {
  const file = fileURLToPath(import.meta.resolve("troupe/client/browser.js")).replace("/src/", "/dist/");
  const code = await readFile(file.replace(/\.ts$/, ".js"), "utf8");
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(14 * 1_024);
  expect(code).not.toMatch(/\bimport\b|\bfrom\s*[`"']|node:|croner|zod/iu);
});

test("a program that loads the client loads no other package, so nothing for schemas and times", async () => {
  const graph = await rolldown({
    input: fileURLToPath(import.meta.resolve("troupe/client")),
    external: /^[^./]/,
    treeshake: false,
  });
  const { output } = await graph.generate({ format: "es", codeSplitting: false });
  expect(output[0].imports).toEqual([]);
});
