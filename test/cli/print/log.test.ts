import { expect, test, vi } from "vitest";
import { createLog } from "../../../src/cli/print/log.ts";
import { stderr, stdout } from "../../../src/cli/print/terminal.ts";

test.each([
  ["info", [30], [40, 50]],
  ["warn", [], [40, 50]],
  ["error", [], [50]],
  ["silent", [], []],
] as const)("from the level %s on, lines are written with the numbers of pino", async (level, out, err) => {
  const written = { out: [] as number[], err: [] as number[] };
  const keep = (levels: number[]) => (lines: string) => {
    for (const line of lines.split("\n")) levels.push((JSON.parse(line) as { readonly level: number }).level);
  };
  vi.spyOn(stdout, "lines").mockImplementation(keep(written.out));
  vi.spyOn(stderr, "lines").mockImplementation(keep(written.err));
  const log = createLog("json", level);
  log.info("it works");
  log.warn("it works slowly");
  log.fault("it failed", new Error("why"));
  // Lines of one pass of the event loop are written together.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  vi.restoreAllMocks();
  expect(written).toEqual({ out, err });
});
