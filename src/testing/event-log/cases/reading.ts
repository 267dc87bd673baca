import { describe, expect, test } from "vitest";
import type { Cursor, EventLog } from "../../../ports/event-log.ts";
import type { LogRecord } from "../../../ports/log-batch.ts";
import { toEncoded } from "../../../protocol/events/texts.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { createRandom } from "../random.ts";
import { events, nextEvents, openFor, record, row, asRunId, startRun, numbers } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** Reading in pages. */
export function testReading(subject: EventLogSubject): void {
  describe("reading", () => {
    test("an unknown run is empty", async () => {
      const log = await openFor(subject);
      const page = await log.read(asRunId("none"), { after: 0, records: true });
      expect(page).toEqual({ events: [], records: [], head: 0 });
    });

    test("a page contains the events after a position, up to a limit", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 4);
      cursor = await log.append(cursor, nextEvents(cursor, 1));
      await log.append(cursor, nextEvents(cursor, 5));

      const read = async (after: number, limit?: number) =>
        log.read(asRunId("run"), { after, ...(limit !== undefined && { limit }) });
      expect(await read(3)).toEqual({ events: events(4, 10), records: [], head: 10 });
      expect(await read(3, 4)).toEqual({ events: events(4, 7), records: [], head: 10 });
      expect(await read(9, 4)).toEqual({ events: events(10, 10), records: [], head: 10 });
      expect(await read(10)).toEqual({ events: [], records: [], head: 10 });
      expect(await read(99)).toEqual({ events: [], records: [], head: 10 });
    });

    test("a page stops before its events exceed the byte limit, but has at least one event", async () => {
      const log = await openFor(subject);
      // Characters of one, two, three and four bytes.
      const encoded = ['"12345678"', '"éé€😀"', `"${"x".repeat(98)}"`, '"abcdefgh"'];
      const whole = await log.claim(asRunId("whole"));
      log.release(await log.append(whole.cursor, { events: encoded, records: [], run: row() }));
      let { cursor } = await log.claim(asRunId("parts"));
      for (const event of encoded) {
        cursor = await log.append(cursor, { events: [event], records: [], run: row() });
      }

      const counts = async (id: string) => {
        const read = async (after: number, limitBytes: number) =>
          (await log.read(asRunId(id), { after, limitBytes })).events.length;
        const [one = 0, two = 0, three = 0] = encoded.map((text) => new TextEncoder().encode(text).length);
        return [
          await read(0, 1),
          await read(0, one + two),
          await read(0, one + two - 1),
          await read(0, one + two + three - 1),
          await read(1, two + three),
          await read(2, 20),
          await read(0, 1_000),
        ];
      };
      const expected = [1, 2, 1, 2, 2, 1, 4];
      expect(await counts("whole")).toEqual(expected);
      expect(await counts("parts")).toEqual(expected);
      log.release(cursor);
      expect(await counts("parts")).toEqual(expected);
    });

    test("a page contains the records from its position to its last event, both included", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      const first = await log.append(cursor, {
        events: events(1, 3),
        records: [record(1, 0), record(2, 0), record(3, 2), record(4, 3)],
        run: row(),
      });
      const second = await log.append(first, { events: [], records: [record(5, 3)] });
      await log.append(second, { events: events(4, 5), records: [record(6, 3), record(7, 5)] });

      const read = async (after: number, limit: number) =>
        (await log.read(asRunId("run"), { after, limit, records: true })).records.map(({ n }) => n);
      expect(await read(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await read(0, 1)).toEqual([1, 2]);
      expect(await read(0, 3)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await read(1, 1)).toEqual([3]);
      expect(await read(3, 1)).toEqual([4, 5, 6]);
      expect(await read(5, 10)).toEqual([7]);
      expect((await log.read(asRunId("run"), { after: 0 })).records).toEqual([]);
    });

    test("pages with a byte limit contain every record once and in order", async () => {
      const log = await openFor(subject);
      let { cursor } = await log.claim(asRunId("run"));
      const text = "x".repeat(10_000);
      for (let batch = 0; batch < 40; batch += 1) {
        const { head, records } = cursor;
        const isNew = head === 0 && records === 0;
        // Some batches have records only, and some of these follow the same event.
        const added = batch % 3 === 2 ? events(head + 1, head + 2) : [];
        const entries = [1, 2].map((n): LogRecord => ({ ...record(records + n, head + added.length), text }));
        cursor = await log.append(cursor, { events: added, records: entries, ...(isNew && { run: row() }) });
      }
      for (const limitBytes of [1, 15_000, 50_000, 10_000_000]) {
        const seen: number[] = [];
        let [after, pages, isLast] = [0, 0, false];
        while (!isLast && pages < 200) {
          const range = { after, limitBytes, records: true, afterRecord: seen.at(-1) ?? 0 };
          const page = await log.read(asRunId("run"), range);
          pages += 1;
          after += page.events.length;
          seen.push(...page.records.map(({ n }) => n));
          isLast = page.cut !== true && after >= page.head;
        }
        expect(after).toBe(cursor.head);
        expect(seen).toEqual(numbers(1, cursor.records));
      }
      const later = await log.read(asRunId("run"), { after: 2, records: true, afterRecord: 30 });
      expect(later.records.map(({ n }) => n)).toEqual(numbers(31, cursor.records));
    });

    test("a snapshot is found without a claim", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      expect(await log.snapshot(asRunId("run"))).toBeUndefined();
      expect(await log.snapshot(asRunId("none"))).toBeUndefined();
      const next = await log.append(cursor, { events: [], records: [record(1, 2)], snapshot: { a: 1 } });
      expect(await log.snapshot(asRunId("run"))).toEqual({ head: 2, records: 1, data: { a: 1 } });
      await log.remove(next);
      expect(await log.snapshot(asRunId("run"))).toBeUndefined();
    });

    test("a record is read back with all its fields", async () => {
      const log = await openFor(subject);
      const full: LogRecord = { n: 1, after: 0, type: "Accepted", request: { a: [1, "é\n", null] } };
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: [], records: [full], run: row() });

      expect((await log.read(asRunId("run"), { after: 0, records: true })).records).toEqual([full]);
    });

    test("every position and page size gives the same history", async () => {
      const log = await openFor(subject);
      const random = createRandom(7);
      let { cursor } = await log.claim(asRunId("run"));
      for (let batch = 0; batch < 60; batch += 1) {
        cursor = await log.append(cursor, generateBatch(cursor, random));
      }
      const whole = await log.read(asRunId("run"), { after: 0, records: true });
      expect(whole.events).toEqual(events(1, cursor.head));
      expect(whole.records.map(({ n }) => n)).toEqual(numbers(1, cursor.records));

      for (let reader = 0; reader < 40; reader += 1) {
        const after = random.below(cursor.head + 1);
        const found = await readToEnd(log, asRunId("run"), after, () => 1 + random.below(20));
        expect(found.events).toEqual(whole.events.slice(after));
        expect(found.records).toEqual(whole.records.filter((entry) => entry.after >= after));
      }
      for (const owned of [true, false]) {
        if (!owned) log.release(cursor);
        for (let after = 0; after <= cursor.head; after += 1) {
          const page = await log.read(asRunId("run"), { after, limit: 7 });
          expect(page).toEqual({ ...whole, events: whole.events.slice(after, after + 7), records: [] });
        }
      }
    });

    test("reads that are batched return what each one returns alone, also when there are very many", async () => {
      const log = await openFor(subject);
      const own = await startRun(log, "own", 3);
      const released = await startRun(log, "released", 5);
      await log.append(released, nextEvents(released, 40));
      log.release(released);
      const places = numbers(0, 50).flatMap((after) => [
        { runId: own.runId, after },
        { runId: released.runId, after },
        { runId: asRunId(`none-${after}`), after },
      ]);
      const readAll = (batched: boolean) =>
        Promise.all(
          places.map(async ({ runId, after }) => {
            const events = await log.read(runId, { after, limit: 1 + (after % 3), batched });
            const records = await log.read(runId, { after, limit: 1, records: true, batched });
            return [events, records];
          }),
        );
      expect(await readAll(true)).toEqual(await readAll(false));
    });
  });
}

function generateBatch(cursor: Cursor, random: { below(limit: number): number }) {
  const count = random.below(8);
  let after = cursor.head;
  const records = numbers(1, random.below(4)).map((step) => {
    after += random.below(cursor.head + count - after + 1);
    return record(cursor.records + step, after);
  });
  return { ...nextEvents(cursor, count), records, run: row() };
}

async function readToEnd(log: EventLog, id: RunId, after: number, limit: () => number) {
  const found: string[] = [];
  const records: LogRecord[] = [];
  for (;;) {
    const position = after + found.length;
    const page = await log.read(id, { after: position, limit: limit(), records: true });
    const next = toEncoded(page.events);
    found.push(...next);
    // Records on the border of two pages are in both.
    const known = records.at(-1)?.n ?? 0;
    records.push(...page.records.filter(({ n }) => n > known));
    if (position + next.length >= page.head) return { events: found, records };
    // Without this, an engine that returns an empty page would cause an endless loop.
    expect(next.length).toBeGreaterThan(0);
  }
}
