import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Visitor, parseSync } from "rolldown/utils";

/**
 * Removes from dist/ what the compiler made of files that are no longer in src/: it only writes files, and a module that is
 * gone would still be found there. Declarations that no entry of the package leads to go too, because nobody can import them,
 * as do modules of types alone, which are empty when they run, and source maps, which the package does not have.
 * Vite empties the folder of the console itself. Modules and declarations are indented by tabs, as the four spaces of the compiler are a tenth of the package;
 * data has no spaces.
 */
const declared = findDeclared();
for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  const path = relative("dist", join(entry.parentPath, entry.name));
  if (path.endsWith(".json")) {
    const file = join("dist", path);
    writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, "utf8"))));
  }
  const [, source, end] = /^(?!console\b)(.*?)(\.d\.ts|\.js)(?:\.map)?$/.exec(path) ?? [];
  if (source === undefined) continue;
  const isUsed = end === ".js" ? !isEmpty(join("dist", path)) : declared.has(join("dist", `${source}.d.ts`));
  if (isUsed && !path.endsWith(".map") && existsSync(join("src", `${source}.ts`))) {
    indentByTabs(join("dist", path));
    continue;
  }
  rmSync(join("dist", path));
}

/** Replaces four spaces by a tab at the start of lines, but not in texts of several lines. Lines keep their numbers. */
function indentByTabs(path: string): void {
  const code = readFileSync(path, "utf8");
  const texts: { readonly start: number; readonly end: number }[] = [];
  new Visitor({ TemplateElement: (text) => void texts.push(text) }).visit(parseSync(path, code).program);
  const indented = code.replaceAll(/^(?: {4})+/gm, (spaces, at: number) =>
    texts.some(({ start, end }) => start < at && at < end) ? spaces : "\t".repeat(spaces.length / 4),
  );
  if (indented !== code) writeFileSync(path, indented);
}

/** Whether a module exports nothing when it runs. No other one imports it then. */
function isEmpty(path: string): boolean {
  return path.endsWith(".js") && readFileSync(path, "utf8").trim() === "export {};";
}

/** The declarations of the entries of the package, and all that they import. */
function findDeclared(): ReadonlySet<string> {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>;
  };
  const found = new Set(
    Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [join(types)])),
  );
  // A set that grows is walked to its end.
  for (const file of found) {
    const imports = readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)\.[jt]s"/g);
    for (const [, path = ""] of imports) found.add(join(file, "..", `${path}.d.ts`));
  }
  return found;
}
