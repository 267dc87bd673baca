/** @module-tag long */
import { expect, test } from "vitest";
import { deployUnder } from "./deploys.ts";

test("no deploy ends a run that waits, and after the rollback each ends with the answer that it got meanwhile", async () => {
  // Of nine deploys only a narrower schema of a tool that has answered fits.
  expect(await deployUnder({ runs: 45, keep: false, checks: true })).toEqual({
    held: 40,
    unforeseen: 0,
    ended: 45,
    ends: { success: 45 },
  });
});

test("with kept versions each ends under the changed code, without a rollback", async () => {
  expect(await deployUnder({ runs: 45, keep: true })).toEqual({
    held: 0,
    unforeseen: 0,
    ended: 45,
    ends: { success: 45 },
  });
});
