import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCursor, parseFlag } from "../../src/protocol/requests/query.ts";

test("reads every event id", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (id) => {
      expect(parseCursor(String(id))).toEqual({ ok: true, value: id });
    }),
  );
});

test.each(["", " ", "-1", "+1", "1.5", "1e3", "0x10", "NaN", "Infinity", "9007199254740992", "1,2", "१"])(
  "refuses %j as a cursor",
  (text) => {
    expect(parseCursor(text)).toMatchObject({ ok: false, message: "must be the id of an event, or 0" });
  },
);

test.each(["true", "True", "TRUE", "1"])("reads %s as true", (text) => {
  expect(parseFlag(text)).toEqual({ ok: true, value: true });
});

test.each(["false", "False", "0"])("reads %s as false", (text) => {
  expect(parseFlag(text)).toEqual({ ok: true, value: false });
});

test.each(["", "yes", "2", "null", "truee"])("refuses %j as a boolean", (text) => {
  expect(parseFlag(text)).toMatchObject({ ok: false });
});
