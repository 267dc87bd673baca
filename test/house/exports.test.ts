import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { shortened } from "../machine/long.ts";

interface Entry {
  readonly "troupe-source": string;
  readonly types: string;
  readonly default: string;
}

const root = resolve(import.meta.dirname, "../..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, Entry | string>>;
};
const entries = Object.entries(manifest.exports).filter(
  (pair): pair is [string, Entry] => typeof pair[1] === "object",
);

test("a public name is added or removed only on purpose: confirm with `npx vitest run test/house -u`", async () => {
  const lines = entries.flatMap(([path, { "troupe-source": source }]) => [
    path.replace(".", "troupe"),
    ...readNames(source).map((name) => `  ${name}`),
  ]);
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("exports.txt");
});

test.each(entries)("%s has its types and its code after a build", (_, entry) => {
  expect(existsSync(join(root, entry.types))).toBe(true);
  expect(existsSync(join(root, entry.default))).toBe(true);
});

test.each(shortened(entries, 1))("%s exports at run time what its source says", async (_, entry) => {
  const built = (await import(pathToFileURL(join(root, entry.default)).href)) as object;
  const values = readNames(entry["troupe-source"]).filter((name) => !name.startsWith("type "));
  expect(Object.keys(built).sort()).toEqual(values.sort());
});

/** Reads the names from the source of an entry; types are marked as such. */
function readNames(source: string): string[] {
  const text = readFileSync(join(root, source), "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
  const lists = [...text.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, type = "", names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => `${type}${name.replace(/^.* as /, "")}`),
  );
  const declared = [...text.matchAll(/^export (?:async )?(type|interface|function|const|class) (\w+)/gm)].map(
    ([, kind = "", name = ""]) => (kind === "type" || kind === "interface" ? `type ${name}` : name),
  );
  return [...lists, ...declared].sort((a, b) => a.localeCompare(b, "en"));
}
