import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { readEntry, toPage, toPageFile } from "./reference.ts";

const root = resolve(import.meta.dirname, "../..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, { readonly types: string } | string>>;
};
const entries = Object.entries(manifest.exports).flatMap(([path, entry]) =>
  typeof entry === "object"
    ? [{ path, title: path.replace(".", "troupe"), types: join(root, entry.types) }]
    : [],
);

describe.each(entries)("$title", ({ path, title, types }) => {
  test("every public name has a doc comment", () => {
    const names = readEntry(types);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter(({ comment }) => comment === "").map(({ name }) => name)).toEqual([]);
  });

  test("the reference is current: `npx vitest run test/house -u` writes it", async () => {
    await expect(toPage(title, readEntry(types))).toMatchFileSnapshot(toPageFile(root, path));
  });
});
