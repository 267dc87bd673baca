import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const folder = import.meta.dirname;
const root = join(folder, "../..");
const source = readFileSync(join(folder, "mistakes.test-d.ts"), "utf8");
/** A copy without the comments that suppress the errors; beside the file, so that its imports are found. */
const copy = join(folder, "mistakes.gen.ts");
const project = join(folder, "tsconfig.gen.json");

/** What the error of each mistake must say, by the line of its comment. */
const mistakes = source.split("\n").flatMap((line, index) => {
  const words = /^ *\/\/ @ts-expect-error (?<words>.+): [^:]+$/.exec(line)?.groups?.["words"];
  return words === undefined ? [] : [{ line: index + 1, words }];
});

/** Longer than this, nobody finds the fault in the first sentence of an error. */
const SENTENCE_LENGTH = 1_000;

afterAll(() => {
  for (const file of [copy, project]) rmSync(file, { force: true });
});

describe("the deliberate mistakes", () => {
  test("are at least 24, and each one is marked", () => {
    expect(mistakes.length).toBeGreaterThanOrEqual(24);
    expect(source.match(/@ts-expect-error/g)).toHaveLength(mistakes.length);
  });

  test(
    "are all refused by the compiler, with an error that names what is wrong, and nothing else is",
    { tags: "long" },
    async () => {
      writeFileSync(copy, source.replaceAll("// @ts-expect-error ", "// "));
      const all = await errorsOf(["mistakes.test-d.ts", "mistakes.gen.ts"]);
      expect(all.filter(({ text }) => !text.includes("mistakes.gen.ts"))).toEqual([]);
      const errors = all.filter(({ text }) => text.includes("mistakes.gen.ts"));
      const lines = new Set(mistakes.map(({ line }) => line + 1));
      expect(errors.filter(({ line }) => !lines.has(line))).toEqual([]);
      for (const { line, words } of mistakes) {
        const found = errors.filter((error) => error.line === line + 1);
        expect({ line, found: found.map(({ text }) => text) }).toMatchObject({
          found: expect.arrayContaining([expect.stringContaining(words)]) as unknown,
        });
        for (const { text } of found) expect(text.split("\n")[0]?.length).toBeLessThan(SENTENCE_LENGTH);
      }
    },
  );
});

interface CompilerError {
  readonly line: number;
  readonly text: string;
}

/** The errors of the compiler for files of this folder. */
async function errorsOf(files: readonly string[]): Promise<readonly CompilerError[]> {
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      include: [],
      files: files.map((file) => join(folder, file)),
    }),
  );
  const compiler = join(root, "node_modules/typescript/lib/tsc.js");
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [compiler, "-p", project], { cwd: root }, (_error, stdout, stderr) => {
      resolve(stdout + stderr);
    });
  });
  return output
    .split(/\n(?=\S)/)
    .filter((text) => text.trim() !== "")
    .map((text) => ({ line: Number(/\((?<line>\d+),\d+\): error/.exec(text)?.groups?.["line"]), text }));
}
