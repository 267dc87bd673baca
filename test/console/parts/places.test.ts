import { expect, test } from "vitest";
import { parsePlace, toFragment, withQuery } from "../../../src/console/places/place.ts";
import { duration, timeAgo } from "../../../src/console/parts/time.ts";

test.for([
  "#/",
  "#/runs",
  "#/runs?agent=echo&state=waiting",
  "#/runs/run_1",
  "#/runs/run_1/timeline?at=312",
  "#/inbox",
  "#/compare/run_1/run_2",
  "#/agents",
  "#/actors?q=roof",
  "#/agents/echo?operation=pay",
  "#/api?route=getRuns",
])("the address %s is that of the place that it opens", (fragment) => {
  expect(toFragment(parsePlace(fragment))).toBe(fragment);
});

test("an unknown address gives the page of unknown addresses", () => {
  for (const fragment of ["#/nowhere", "#/runs/a/b/c", "#/agents/a/b", "#/runs/run_1/nothing", "#/%zz"]) {
    expect(parsePlace(fragment).name).toBe("lost");
  }
  expect(parsePlace("")).toEqual({ name: "overview", query: {} });
});

test("a filter that is emptied leaves the address", () => {
  const place = parsePlace("#/runs?agent=echo&status=idle");
  expect(toFragment(withQuery(place, { agent: "", status: undefined }))).toBe("#/runs");
});

test("durations have the two largest units that they have", () => {
  const shown = [0, 0.4, 12.4, 999, 1_240, 59_000, 61_000, 3_600_000, 100_000_000].map(duration);
  expect(shown).toEqual([
    "0 ms",
    "< 1 ms",
    "12 ms",
    "999 ms",
    "1.2 s",
    "59 s",
    "1 min 1 s",
    "1 h",
    "1 d 3 h",
  ]);
});

test("a time is relative up to a day", () => {
  const now = Date.parse("2026-11-22T12:00:00Z");
  const shown = [1, 30, 90, 7_200].map((seconds) => timeAgo(now - seconds * 1_000, now));
  expect(shown).toEqual(["now", "30 s ago", "1 min ago", "2 h ago"]);
});
