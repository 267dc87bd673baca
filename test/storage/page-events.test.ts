import fc from "fast-check";
import { expect, test } from "vitest";
import { toEncoded } from "../../src/protocol/events/texts.ts";
import type { LoggedEvents } from "../../src/protocol/events/texts.ts";
import { firstOf, sizeOf } from "../../src/storage/shared/page-events.ts";
import { speakerAddress } from "../protocol/arbitrary.ts";
import { createSpeaker } from "../../src/protocol/events/encode.ts";

// Also control characters and halves of surrogate pairs.
const content = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\n", "\u0001", '"', "\\", "x", "é", "€", "😀", "\ud83d", "\ude00") }),
);

const events: fc.Arbitrary<LoggedEvents> = fc.array(
  fc.oneof(
    content.map((text) => JSON.stringify({ text })),
    fc
      .tuple(speakerAddress, fc.array(content, { minLength: 1 }), fc.nat())
      .map(([address, contents, first]) => ({
        speaker: createSpeaker(address),
        ending: "",
        first,
        at: 0,
        said: contents.flatMap((one, index) => [index, one]),
      })),
  ),
);

const bytesOf = (encoded: readonly string[]): number => Buffer.byteLength(encoded.join(""));

test("the size of events is that of their encoded texts", () => {
  fc.assert(
    fc.property(events, (all) => {
      expect(sizeOf(all)).toBe(bytesOf(toEncoded(all)));
    }),
  );
});

test.each([0, 1, 2, 3])(
  "a long event is measured in parts that split no character, after %i others",
  (before) => {
    const text = "x".repeat(before) + "é€😀".repeat(20_000);
    expect(sizeOf([text])).toBe(Buffer.byteLength(text));
  },
);

test("a page has as many events as fit, and at least one", () => {
  fc.assert(
    fc.property(events, fc.nat(20), fc.nat(20), fc.nat(4_000), (all, skip, limit, limitBytes) => {
      const range = toEncoded(all).slice(skip, skip + limit);
      const page = toEncoded(firstOf(all, { skip, limit, limitBytes }));
      expect(page).toEqual(range.slice(0, page.length));
      const next = range.slice(0, page.length + 1);
      expect(page.length < 2 || bytesOf(page) <= limitBytes).toBe(true);
      expect(page.length === range.length || (page.length > 0 && bytesOf(next) > limitBytes)).toBe(true);
    }),
  );
});
