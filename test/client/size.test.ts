import { gzipSync } from "node:zlib";
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
