import { expect, test } from "vitest";
import { clockTime, momentTime } from "../../../src/console/parts/time.ts";

test("a moment of another day has its date, one of today only its time", () => {
  const now = new Date(2026, 4, 3, 12).getTime();
  const later = new Date(2026, 4, 3, 18, 30).getTime();
  const nextWeek = new Date(2026, 4, 10, 18, 30).getTime();
  expect(momentTime(later, now)).toBe(clockTime(later));
  expect(momentTime(nextWeek, now)).toContain("2026");
  expect(momentTime(nextWeek, now)).toContain("10");
  expect(momentTime(nextWeek, now)).toContain(clockTime(nextWeek));
});
