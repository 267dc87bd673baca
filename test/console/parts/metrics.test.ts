import { expect, test } from "vitest";
import {
  FAILED_TURNS,
  TURNS,
  keepSample,
  meanOf,
  parseMetrics,
  rateOf,
  valueOf,
} from "../../../src/console/health/metrics.ts";

const text = (turns: number, failed: number, sum: number): string => `
troupe_commits_total 4
troupe_turn_seconds_count{agent="a",reason="success"} ${turns}
troupe_turn_seconds_count{agent="b",reason="error"} ${failed}
troupe_commit_seconds_sum ${sum}
troupe_commit_seconds_count ${turns}
`;

test("rates and means are those between two samples, with a gap where the page was elsewhere", () => {
  const samples = [
    { at: 0, metrics: parseMetrics(text(0, 0, 0)) },
    { at: 2_000, metrics: parseMetrics(text(4, 2, 0.4)) },
    { at: 100_000, metrics: parseMetrics(text(9, 2, 0.4)) },
    // The server was started again: its counters begin anew.
    { at: 102_000, metrics: parseMetrics(text(1, 0, 0.4)) },
  ];
  expect(rateOf(samples, TURNS).map(({ value }) => value)).toEqual([3, undefined, undefined]);
  expect(rateOf(samples, FAILED_TURNS)[0]).toEqual({ at: 2_000, value: 1 });
  expect(meanOf(samples, "troupe_commit_seconds")[0]).toEqual({ at: 2_000, value: 0.1 });
  expect(valueOf(samples, "troupe_waits_open")[0]).toEqual({ at: 0, value: undefined });
  expect(rateOf([{ at: 0, metrics: parseMetrics("troupe_commits_total 0\n") }], TURNS)).toEqual([]);
});

test("samples of more than an hour ago are dropped", () => {
  const metrics = parseMetrics("");
  const kept = keepSample(
    [
      { at: 0, metrics },
      { at: 3_000_000, metrics },
    ],
    { at: 3_700_000, metrics },
  );
  expect(kept.map(({ at }) => at)).toEqual([3_000_000, 3_700_000]);
});
