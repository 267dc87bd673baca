import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../examples");
const programs = readdirSync(folder).filter((name) => name.endsWith(".ts"));

describe("the examples", () => {
  test("are numbered from 01 on without a gap", () => {
    const numbers = programs.map((name) => name.slice(0, 2));
    expect(numbers).toEqual(programs.map((_, index) => String(index + 1).padStart(2, "0")));
  });

  // A program checks what it shows by itself, and ends with an error where that is not so.
  test.concurrent.each(programs)("%s shows what it says", { timeout: 60_000 }, async (program) => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, program)]);
    expect(stdout).not.toBe("");
  });
});
