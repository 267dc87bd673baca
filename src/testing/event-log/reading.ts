import { describe, expect, test } from "vitest";
import type { Cursor, EventLog, LogRecord } from "../../ports/event-log.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { createRandom } from "./random.ts";
import type { EventLogSubject } from "./subject.ts";
import { events, nextEvents, openFor, record, row, runId, startRun, texts } from "./subject.ts";

/** Reading in pages and live. */
export function testReading(subject: EventLogSubject): void {
  describe("reading", () => {
    test("an unknown run is empty", async () => {
      const log = await openFor(subject);
      const page = await log.read(runId("none"), { after: 0, records: true });
      expect(page).toEqual({ events: [], records: [], head: 0 });
    });

    test("a page contains the events after a position, up to a limit", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 4);
      cursor = await log.append(cursor, nextEvents(cursor, 1));
      await log.append(cursor, nextEvents(cursor, 5));

      const read = async (after: number, limit?: number) =>
        log.read(runId("run"), { after, ...(limit !== undefined && { limit }) });
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
      const whole = await log.claim(runId("whole"));
      log.release(await log.append(whole.cursor, { events: encoded, records: [], run: row() }));
      let { cursor } = await log.claim(runId("parts"));
      for (const event of encoded) {
        cursor = await log.append(cursor, { events: [event], records: [], run: row() });
      }

      const counts = async (id: string) => {
        const read = async (after: number, limitBytes: number) =>
          (await log.read(runId(id), { after, limitBytes })).events.length;
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
      const { cursor } = await log.claim(runId("run"));
      const first = await log.append(cursor, {
        events: events(1, 3),
        records: [record(1, 0), record(2, 0), record(3, 2), record(4, 3)],
        run: row(),
      });
      const second = await log.append(first, { events: [], records: [record(5, 3)] });
      await log.append(second, { events: events(4, 5), records: [record(6, 3), record(7, 5)] });

      const read = async (after: number, limit: number) =>
        (await log.read(runId("run"), { after, limit, records: true })).records.map(({ n }) => n);
      expect(await read(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(await read(0, 1)).toEqual([1, 2]);
      expect(await read(0, 3)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await read(1, 1)).toEqual([3]);
      expect(await read(3, 1)).toEqual([4, 5, 6]);
      expect(await read(5, 10)).toEqual([7]);
      expect((await log.read(runId("run"), { after: 0 })).records).toEqual([]);
    });

    test("pages with a byte limit contain every record once and in order", async () => {
      const log = await openFor(subject);
      let { cursor } = await log.claim(runId("run"));
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
          const page = await log.read(runId("run"), range);
          pages += 1;
          after += page.events.length;
          seen.push(...page.records.map(({ n }) => n));
          isLast = page.cut !== true && after >= page.head;
        }
        expect(after).toBe(cursor.head);
        expect(seen).toEqual(numbers(1, cursor.records));
      }
      const later = await log.read(runId("run"), { after: 2, records: true, afterRecord: 30 });
      expect(later.records.map(({ n }) => n)).toEqual(numbers(31, cursor.records));
    });

    test("a snapshot is found without a claim", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      expect(await log.snapshot(runId("run"))).toBeUndefined();
      expect(await log.snapshot(runId("none"))).toBeUndefined();
      const next = await log.append(cursor, { events: [], records: [record(1, 2)], snapshot: { a: 1 } });
      expect(await log.snapshot(runId("run"))).toEqual({ head: 2, records: 1, data: { a: 1 } });
      await log.remove(next);
      expect(await log.snapshot(runId("run"))).toBeUndefined();
    });

    test("a record is read back with all its fields", async () => {
      const log = await openFor(subject);
      const full: LogRecord = { n: 1, after: 0, type: "Accepted", request: { a: [1, "é\n", null] } };
      const { cursor } = await log.claim(runId("run"));
      await log.append(cursor, { events: [], records: [full], run: row() });

      expect((await log.read(runId("run"), { after: 0, records: true })).records).toEqual([full]);
    });

    test("every position and page size gives the same history", async () => {
      const log = await openFor(subject);
      const random = createRandom(7);
      let { cursor } = await log.claim(runId("run"));
      for (let batch = 0; batch < 60; batch += 1) {
        cursor = await log.append(cursor, generateBatch(cursor, random));
      }
      const whole = await log.read(runId("run"), { after: 0, records: true });
      expect(whole.events).toEqual(events(1, cursor.head));
      expect(whole.records.map(({ n }) => n)).toEqual(numbers(1, cursor.records));

      for (let reader = 0; reader < 40; reader += 1) {
        const after = random.below(cursor.head + 1);
        const found = await readToEnd(log, runId("run"), after, () => 1 + random.below(20));
        expect(found.events).toEqual(whole.events.slice(after));
        expect(found.records).toEqual(whole.records.filter((entry) => entry.after >= after));
      }
      for (const owned of [true, false]) {
        if (!owned) log.release(cursor);
        for (let after = 0; after <= cursor.head; after += 1) {
          const page = await log.read(runId("run"), { after, limit: 7 });
          expect(page).toEqual({ ...whole, events: whole.events.slice(after, after + 7), records: [] });
        }
      }
    });

    test("texts are read back as the events that they encode, from every position and in every page size", async () => {
      const log = await openFor(subject);
      let { cursor } = await log.claim(runId("run"));
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
          const some = await log.read(runId("run"), { after, limit: 7 });
          expect(toEncoded(some.events)).toEqual(all.slice(after, after + 7));
          const page = toEncoded((await log.read(runId("run"), { after, limitBytes: 1_000 })).events);
          expect(page).toEqual(all.slice(after, after + page.length));
          expect(page.length).toBeGreaterThan(after < all.length ? 0 : -1);
          expect(page.length > 1 ? sizeOf(page) : 0).toBeLessThanOrEqual(1_000);
        }
      }
    });

    test("a page that was read stays as it is when more texts are appended", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(runId("run"));
      const first = texts(cursor.runId, 1, 2);
      const second = { ...texts(cursor.runId, 3, 4), speaker: first.speaker };
      const next = await log.append(cursor, { events: [first], records: [], run: row() });
      const page = await log.read(runId("run"), { after: 0 });
      await log.append(next, { events: [second], records: [] });

      expect(toEncoded(page.events)).toEqual(toEncoded([first]));
      expect(toEncoded((await log.read(runId("run"), { after: 0 })).events)).toEqual(
        toEncoded([first, second]),
      );
    });

    test("following with tail and read gives every event once and in order", async () => {
      const log = await openFor(subject);
      const random = createRandom(11);
      const batches = 80;
      let cursor = await startRun(log, "run", 1);
      const end = 1_000;
      const readers = numbers(0, 3).map((reader) => follow(log, runId("run"), reader % 2, end));
      for (let batch = 0; batch < batches; batch += 1) {
        cursor = await log.append(cursor, nextEvents(cursor, 1 + random.below(12)));
      }
      await log.append(cursor, nextEvents(cursor, end - cursor.head));

      const seen = await Promise.all(readers);
      for (const [reader, found] of seen.entries()) {
        expect(found).toEqual(events((reader % 2) + 1, end));
      }
    });

    test("an append can be read when its tail wakes and when it is acknowledged", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const woken = new Promise<number>((resolve, reject) => {
        const stop = log.tail(runId("run"), () => {
          stop();
          Promise.resolve(log.read(runId("run"), { after: 1 })).then((page) => resolve(page.head), reject);
        });
      });
      await log.append(cursor, nextEvents(cursor, 2));

      expect((await log.read(runId("run"), { after: 1 })).events).toEqual(events(2, 3));
      expect(await woken).toBe(3);
    });

    test("a watch wakes with the id of each run that is appended to or removed, until it ends", async () => {
      const log = await openFor(subject);
      const woken: string[] = [];
      let notify = (): void => {};
      const stop = log.watch((id) => {
        woken.push(id);
        notify();
      });
      const until = async (id: string): Promise<void> => {
        while (!woken.splice(0).includes(id)) {
          const { promise, resolve } = Promise.withResolvers<void>();
          notify = resolve;
          await promise;
        }
      };
      const one = await startRun(log, "one", 1);
      await until("one");
      const two = await startRun(log, "two", 1);
      await until("two");
      const appended = await log.append(one, nextEvents(one, 1));
      await until("one");
      expect(await log.run(runId("one"))).toMatchObject({ head: 2 });
      await log.remove(appended);
      await until("one");
      expect(await log.run(runId("one"))).toMatchObject({ removed: true });

      stop();
      const tailed = Promise.withResolvers<void>();
      log.tail(runId("two"), tailed.resolve);
      await log.append(two, nextEvents(two, 1));
      await tailed.promise;
      expect(woken).toEqual([]);
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

/** Reads until event `end`; waits for the tail when there is nothing more. */
async function follow(log: EventLog, id: RunId, after: number, end: number): Promise<readonly string[]> {
  const found: string[] = [];
  let wake = (): void => {};
  let woken = Promise.resolve();
  const arm = (): void => {
    woken = new Promise((resolve) => {
      wake = resolve;
    });
  };
  arm();
  const stop = log.tail(id, () => wake());
  while (after + found.length < end) {
    const page = await log.read(id, { after: after + found.length, limit: 7 });
    found.push(...toEncoded(page.events));
    if (after + found.length >= end) break;
    // Without this, an engine that returns an empty page would cause an endless loop.
    expect(page.events.length > 0 || page.head <= after + found.length).toBe(true);
    if (after + found.length < page.head) continue;
    await woken;
    arm();
  }
  stop();
  return found;
}

function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index);
}
