/** @module-tag long */
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

test("a test that needs a missing part of the machine is skipped by name, and says how to get the part", () => {
  const { status, output } = runBrowserExample({ CI: "" });
  expect(output).toMatch(
    /^skipped test\/examples\/examples\.test\.ts > .*06-browser\.ts.*: this machine lacks a part; the test needs Chromium or Chrome: install one .*$/m,
  );
  expect(status).toBe(0);
});

test("with CI=true a missing part of the machine is a failure", () => {
  const { status, output } = runBrowserExample({ CI: "true" });
  expect(output).toContain("needs Chromium or Chrome: install one");
  expect(status).toBe(1);
});

/** Runs the test of the example that needs a browser on a machine without one. */
function runBrowserExample(env: { readonly CI: string }): {
  readonly status: number | null;
  readonly output: string;
} {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "test/examples/examples.test.ts", "-t", "06-browser"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env, CHROMIUM: "/no/such/browser", NO_COLOR: "1" },
  });
  return { status, output: stdout + stderr };
}
