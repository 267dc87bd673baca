import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipWithout } from "../machine/skip-without.ts";
import { runsLong } from "../machine/long.ts";

const folder = join(import.meta.dirname, "../../examples");
const programs = readdirSync(folder).filter((name) => name.endsWith(".ts"));

/** The exit code of an example that needs something this machine lacks. */
const LACKS_A_PART = 77;

/** The examples that `npm test` runs. */
const SHORT = /^01-/;

describe("the examples", () => {
  test("are numbered from 01 without a gap", () => {
    const numbers = programs.map((name) => name.slice(0, 2));
    expect(numbers).toEqual(programs.map((_, index) => String(index + 1).padStart(2, "0")));
  });

  // Each program checks its own results and exits with an error if one is wrong.
  test.concurrent.for(runsLong ? programs : programs.filter((name) => SHORT.test(name)))(
    "%s passes its checks",
    async (program, { skip }) => {
      const result = await run(join(folder, program));
      if (result.exitCode === LACKS_A_PART) skipWithout(skip, result.stderr.trim());
      expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/./) as string });
    },
  );
});

interface Result {
  readonly exitCode: number | string | undefined | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program], (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}
