import { expect, test } from "vitest";
import { isId } from "../../src/protocol/ids.ts";

test.each(["run_V1StGXR8_Z5jdHi6B-myT", "a", "x".repeat(128)])("accepts %s as an id", (id) => {
  expect(isId(id)).toBe(true);
});

test.each(["", "../etc", "a b", "a\u0000", "ä", "x".repeat(129)])("refuses %j as an id", (id) => {
  expect(isId(id)).toBe(false);
});
