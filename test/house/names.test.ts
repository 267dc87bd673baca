import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly id?: Node | null;
  readonly body?: readonly Node[];
  readonly declaration?: Node | null;
  readonly declarations?: readonly Node[];
}

const CLIENT =
  "the same question or answer, here in the types of the runtime and there in those of its clients";

/** Names that several files declare with one meaning, and why. */
const SHARED: Readonly<Record<string, string>> = {
  ClaimedRun: "a run as each engine keeps it for its claims, over the OwnedRun of all engines",
  createRuntime: "the one of the package fills in defaults for that of the runtime",
  encodeAppend: "how each SQL engine writes a batch of the port",
  readPage: "how each engine reads a page of the port",
  RunsPage: CLIENT,
  RunsQuery: CLIENT,
  createClient:
    "a page without a bundler has the part of the client that conversations need, under the same name",
  SchedulesPage: CLIENT,
  SchedulesQuery: CLIENT,
  TopicsPage: CLIENT,
  TopicsQuery: CLIENT,
  WaitsPage: CLIENT,
  WaitsQuery: CLIENT,
  Upload: CLIENT,
};

const root = resolve(import.meta.dirname, "../../src");

test("an exported name is declared in one file: one idea, one word", () => {
  const places = new Map<string, Set<string>>();
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(file)) continue;
    for (const name of readDeclared(file)) places.set(name, (places.get(name) ?? new Set()).add(file));
  }
  expect(places.size).toBeGreaterThan(1_000);
  const repeated = [...places].filter(([, files]) => files.size > 1);
  const allowed = Object.keys(SHARED);
  // Give one of the two another word, or do not export it.
  const wrong = repeated.filter(([name]) => !allowed.includes(name));
  expect(wrong.map(([name, files]) => `${name}: ${[...files].join(", ")}`)).toEqual([]);
  const names = new Set(repeated.map(([name]) => name));
  expect(allowed.filter((name) => !names.has(name))).toEqual([]);
});

/** The names that a file declares and exports, without those that it re-exports. */
function readDeclared(file: string): readonly string[] {
  const code = readFileSync(join(root, file), "utf8");
  const tree = parseAst(code, { lang: file.endsWith(".tsx") ? "tsx" : "ts" });
  const { body } = tree as unknown as { readonly body: readonly Node[] };
  return body.flatMap(({ type, declaration }) => {
    if (type !== "ExportNamedDeclaration" || !declaration) return [];
    return (declaration.declarations ?? [declaration]).flatMap(({ id }) => id?.name ?? []);
  });
}
