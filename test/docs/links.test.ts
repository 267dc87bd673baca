import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { root } from "./blocks.ts";

const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly files: readonly string[];
};
const documents = [
  "AGENTS.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "PROTOCOL.md",
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => join("docs", path)),
];
/** The README is shown by a registry with the repository's links, so it may lead out of the package. */
const packed = documents.filter((path) => path !== "README.md" && isPacked(path));

test.for(documents)("every link of %s leads to a file, and to a heading of it", (document) => {
  const dead = linksOf(document).filter(({ path, heading }) => {
    if (statSync(join(root, path), { throwIfNoEntry: false }) === undefined) return true;
    return heading !== undefined && path.endsWith(".md") && !headingsOf(path).has(heading);
  });
  expect(dead).toEqual([]);
});

test("no link of a document in the package leads out of the package", () => {
  expect(packed.length).toBeGreaterThan(40);
  const out = packed.flatMap((document) =>
    linksOf(document).flatMap(({ path }) =>
      isPacked(path) || isPicture(path) ? [] : [`${document}: ${path}`],
    ),
  );
  expect(out).toEqual([]);
});

interface Link {
  /** From the root of the repository. */
  readonly path: string;
  readonly heading?: string;
}

/** The links of a document to others and to its own headings, without those in code. */
function linksOf(document: string): Link[] {
  const links = readProse(document).matchAll(/\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?(?: "[^"]*")?\)/g);
  return [...links].map(([, target = "", heading]) => ({
    path: target === "" ? document : relative(root, join(root, dirname(document), target)),
    ...(heading !== undefined && { heading }),
  }));
}

/** The anchors of the headings, made as GitHub makes them; a heading that comes again gets a number. */
function headingsOf(document: string): Set<string> {
  const text = readFileSync(join(root, document), "utf8").replaceAll(/^```.*?^```$/gms, "");
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#+ (.*)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-");
    let free = anchor;
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`;
    anchors.add(free);
  }
  return anchors;
}

function readProse(document: string): string {
  return readFileSync(join(root, document), "utf8")
    .replaceAll(/^ *```.*?^ *```$/gms, "")
    .replaceAll(/`[^`\n]*`/g, "");
}

/** Pictures are large, and the text in their place says what they show. The site and the repository have them. */
function isPicture(path: string): boolean {
  return path.startsWith("docs/images/");
}

/** Whether a path is in the package. npm packs README and LICENSE without being asked. */
function isPacked(path: string): boolean {
  const own = [...files, "README.md", "LICENSE", "package.json"];
  return own.some((entry) => path === entry || path.startsWith(`${entry}/`));
}
