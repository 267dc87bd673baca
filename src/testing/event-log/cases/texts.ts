import { describe, expect, test } from "vitest";
import { toEncoded } from "../../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../../protocol/events/texts.ts";
import { events, openFor, row, asRunId, texts } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** Reading texts of one speaker, which a log stores together. */
export function testTexts(subject: EventLogSubject): void {
  describe("texts", () => {
    test("texts are read back as the events that they encode, from every position and in every page size", async () => {
      const log = await openFor(subject);
      let { cursor } = await log.claim(asRunId("run"));
      const all: string[] = [];
      // Small and large batches, two speakers, and events between them.
      for (let batch = 0; batch < 24; batch += 1) {
        const from = cursor.head + 1;
        const said = texts(
          cursor.runId,
          from,
          from + (batch % 4 === 0 ? 40 : batch % 3),
          batch < 12 ? "one" : "two",
        );
        const ending = batch % 5 === 0 ? ',"call_id":"c1.1","attempt":1' : "";
        const added: LoggedEvents = [{ ...said, ending }, ...(batch % 6 === 5 ? events(0, 1) : [])];
        all.push(...toEncoded(added));
        cursor = await log.append(cursor, { events: added, records: [], ...(batch === 0 && { run: row() }) });
        expect(cursor.head).toBe(all.length);
      }
      const sizeOf = (encoded: readonly string[]): number =>
        new TextEncoder().encode(encoded.join("")).length;
      for (const owned of [true, false]) {
        if (!owned) log.release(cursor);
        for (let after = 0; after <= all.length; after += 1) {
          const some = await log.read(asRunId("run"), { after, limit: 7 });
          expect(toEncoded(some.events)).toEqual(all.slice(after, after + 7));
          const page = toEncoded((await log.read(asRunId("run"), { after, limitBytes: 1_000 })).events);
          expect(page).toEqual(all.slice(after, after + page.length));
          expect(page.length).toBeGreaterThan(after < all.length ? 0 : -1);
          expect(page.length > 1 ? sizeOf(page) : 0).toBeLessThanOrEqual(1_000);
        }
      }
    });

    test("a page that was read stays as it is when more texts are appended", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      const first = texts(cursor.runId, 1, 2);
      const second = { ...texts(cursor.runId, 3, 4), speaker: first.speaker };
      const next = await log.append(cursor, { events: [first], records: [], run: row() });
      const page = await log.read(asRunId("run"), { after: 0 });
      await log.append(next, { events: [second], records: [] });

      expect(toEncoded(page.events)).toEqual(toEncoded([first]));
      expect(toEncoded((await log.read(asRunId("run"), { after: 0 })).events)).toEqual(
        toEncoded([first, second]),
      );
    });
  });
}
