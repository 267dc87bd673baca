import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { LACKS } from "./skip-without.ts";

const ROOT = join(import.meta.dirname, "../..");

const isTest = (file: string): boolean => !relative(join(ROOT, "test"), file).startsWith("..");

/**
 * The test files that name one of these packages, themselves or by a file that they import: they are skipped, and a line for each says how to get
 * what it needs. With `CI=true` it throws instead.
 */
export function findTestsWithout(packages: readonly string[]): readonly string[] {
  if (packages.length === 0) return [];
  const how = "install it (npm run packages)";
  if (["true", "1"].includes(process.env["CI"] ?? ""))
    throw new Error(`${LACKS}needs ${packages.join(", ")}: ${how}`);
  const needs = new Map<string, readonly string[]>();
  const needsOf = (file: string): readonly string[] => {
    const known = needs.get(file);
    if (known !== undefined) return known;
    // Files may import each other.
    needs.set(file, []);
    const text = readFileSync(file, "utf8");
    const own = packages.filter((name) => new RegExp(`["'\`/]${name}["'\`/]`).test(text));
    const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.tsx?)"/g)].flatMap(
      ([, path = ""]) => {
        const to = join(dirname(file), path);
        // A text may look like an import.
        return isTest(to) && existsSync(to) ? needsOf(to) : [];
      },
    );
    const all = [...new Set([...own, ...imported])];
    needs.set(file, all);
    return all;
  };
  const files = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
    .map((name) => join("test", name))
    .filter((file) => {
      const lacked = needsOf(join(ROOT, file));
      if (lacked.length > 0) console.log(`skipped ${file}: ${LACKS}needs ${lacked.join(", ")}: ${how}`);
      return lacked.length > 0;
    });
}
