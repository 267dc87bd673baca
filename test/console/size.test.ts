import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const built = resolve(import.meta.dirname, "../../dist/console");
const page = readFileSync(join(built, "index.html"), "utf8");
const names = readdirSync(join(built, "console"));
const isFirst = (name: string): boolean => page.includes(`/${name}"`);

test("the first load of the console is at most 50 KB, a later part 25 KB, all together 150 KB", () => {
  const first = names.filter(isFirst);
  expect(first.length).toBeGreaterThan(1);
  expect(sum(first.map(sizeOf)) + gzipSync(page).length).toBeLessThan(50_000);
  const later = names.filter((name) => !isFirst(name));
  expect(later.filter((name) => sizeOf(name) > 25_000)).toEqual([]);
  expect(sum(names.map(sizeOf)) + gzipSync(page).length).toBeLessThan(150_000);
});

test("the page has no script or style of its own, and names no other origin", () => {
  expect(page).not.toMatch(/<script(?![^>]* src=)|<style|style=|https?:/);
});

test("the licences of everything that is bundled are in the package", () => {
  const licences = readFileSync(join(built, "licenses.md"), "utf8");
  for (const name of ["preact", "marked", "@dagrejs/dagre"]) expect(licences).toContain(`## ${name} `);
});

function sizeOf(name: string): number {
  return gzipSync(readFileSync(join(built, "console", name))).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
