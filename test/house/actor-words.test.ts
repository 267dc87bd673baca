import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const PAGE = "docs/actors.md";

describe(`the words of other systems in ${PAGE}`, () => {
  const rows = tableRows(readFileSync(join(root, PAGE), "utf8"));

  test("are a table", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  test.each(rows)("$word: what is said of it is run by a test or an example", ({ shownBy }) => {
    const links = [...shownBy.matchAll(/\[[^\]]+\]\((?<path>[^\s)]+)(?: "(?<title>[^"]+)")?\)/g)];
    // Nothing else is in the cell, for example a link that is not understood.
    expect(links.map(([text]) => text).join(", ")).toBe(shownBy);
    expect(links).not.toEqual([]);
    for (const { groups: { path = "", title } = {} } of links) expect(faultOf(path, title)).toBeUndefined();
  });

  test("a fault in the table is noticed", () => {
    const file = "../test/house/actor-words.test.ts";
    expect(faultOf(file, "are a table")).toBeUndefined();
    expect(faultOf(file, "no such test")).toMatch("has no test");
    expect(faultOf(file, undefined)).toMatch("its test is not named");
    expect(faultOf("../test/house/gone.test.ts", "are a table")).toMatch("does not exist");
    expect(faultOf("../test/house/exports.txt", undefined)).toMatch("is neither a test nor an example");
  });
});

interface Row {
  readonly word: string;
  readonly shownBy: string;
}

/** The rows of the page's table: their first cell and their last one. */
function tableRows(page: string): readonly Row[] {
  const lines = page.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => {
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    expect(cells).toHaveLength(4);
    return { word: cells[0] ?? "", shownBy: cells[3] ?? "" };
  });
}

/** What is wrong with a reference to a test or an example; `undefined` if it is run. */
function faultOf(link: string, title: string | undefined): string | undefined {
  const path = join(dirname(PAGE), link);
  if (!existsSync(join(root, path))) return `${path} does not exist`;
  // The tests run each numbered program of this folder.
  if (/^examples\/\d\d-[\w-]+\.ts$/.test(path)) return undefined;
  if (!/^test\/.+\.test\.ts$/.test(path)) return `${path} is neither a test nor an example`;
  if (title === undefined) return `${path}: its test is not named`;
  const source = readFileSync(join(root, path), "utf8");
  const calls = source.replaceAll(/\(\s+/g, "(");
  const isNamed = ['"', "`"].some((quote) => calls.includes(`(${quote}${title}${quote},`));
  if (!isNamed) return `${path} has no test "${title}"`;
  if (/\b(?:test|it|describe)\.(?:skip|todo|only)\b/.test(source)) return `${path} leaves tests out`;
  return undefined;
}
