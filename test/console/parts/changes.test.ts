import { expect, test } from "vitest";
import { changeOf, earlierAt, removedFrom } from "../../../src/console/json/changes.ts";

test("a part of a value is new, changed or equal to that of the value before", () => {
  const before = { value: { kept: [1, 2], changed: { a: 1 }, gone: null } };
  const now = { kept: [1, 2], changed: { a: 2 }, added: "x" };
  const changes = Object.entries(now).map(([key, value]) => [key, changeOf(value, earlierAt(before, key))]);
  expect(changes).toEqual([
    ["kept", undefined],
    ["changed", "changed"],
    ["added", "new"],
  ]);
  expect(removedFrom(now, before)).toEqual(["gone"]);
});

test("of what was not there before, or was of another kind, nothing is removed", () => {
  expect(removedFrom({ a: 1 }, undefined)).toEqual([]);
  expect(removedFrom({ a: 1 }, { value: undefined })).toEqual([]);
  expect(removedFrom({ a: 1 }, { value: ["x", "y"] })).toEqual([]);
  expect(earlierAt({ value: "a text" }, "length")).toEqual({ value: undefined });
  expect(earlierAt({ value: {} }, "toString")).toEqual({ value: undefined });
});
