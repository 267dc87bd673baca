import { expect, test } from "vitest";
import { deployUnder } from "./deploys.ts";

test("no deploy ends a run that waits, and after the rollback each ends with the answer that it got meanwhile", async () => {
  // Of seven deploys only a narrower schema of a tool that has answered fits.
  expect(await deployUnder(49)).toEqual({ held: 42, ended: 49, ends: { success: 49 } });
});
