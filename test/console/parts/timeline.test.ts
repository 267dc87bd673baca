import { expect, test } from "vitest";
import type { CallView } from "../../../src/view/run-view.ts";
import { toAxis } from "../../../src/console/timeline/axis.ts";

const start = Date.parse("2026-11-22T12:00:00Z");

/** A call that begins and ends some milliseconds after the start. */
function call(
  kind: CallView["kind"],
  from: number,
  to: number | undefined,
): { call: CallView; level: number } {
  const at = (ms: number): string => new Date(start + ms).toISOString();
  const times = { startedAt: at(from), ...(to !== undefined && { endedAt: at(to) }) };
  return { call: { kind, children: [], ...times } as unknown as CallView, level: 0 };
}

test("a pause in which only a question is open is cut out of the axis, with its length", () => {
  const rows = [call("tool", 0, 10), call("wait", 10, 3_600_010), call("tool", 3_600_010, 3_600_020)];
  const { toShare, cuts } = toAxis(rows, start + 3_600_020);
  expect(cuts).toMatchObject([{ ms: 3_600_000 }]);
  const shares = [0, 10, 3_600_010, 3_600_020].map((ms) => toShare(start + ms));
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares[0]).toBe(0);
  expect(shares.at(-1)).toBeCloseTo(1);
  expect(shares[1]).toBeGreaterThan(0.4);
});

test("a long call is not cut out, because it works", () => {
  const rows = [call("tool", 0, 10), call("model", 10, 60_000), call("tool", 60_000, 60_010)];
  const { toShare, cuts } = toAxis(rows, start + 60_010);
  expect(cuts).toEqual([]);
  expect(toShare(start + 30_000)).toBeCloseTo(0.5, 1);
});

test("a run of one millisecond has each time once on its axis", () => {
  const { ticks } = toAxis([call("tool", 0, 1)], start + 1);
  expect(ticks.map(({ ms }) => ms)).toEqual([0, 1]);
});

test("an open call ends now, and a run without calls has an empty axis", () => {
  expect(toAxis([call("tool", 0, undefined)], start + 1_000).toShare(start + 500)).toBeCloseTo(0.5);
  expect(toAxis([], start)).toMatchObject({ cuts: [], ticks: [] });
});
