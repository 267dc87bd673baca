import { describe, expect, test } from "vitest";
import { Fenced } from "../../../ports/event-log.ts";
import type { EventLogSubject } from "../subject.ts";
import {
  events,
  nextEvents,
  openFor,
  record,
  asRequestId,
  row,
  asRunId,
  startRun,
  alias,
} from "../subject.ts";

/** Appends, claims, and their interactions. */
export function testAppending(subject: EventLogSubject): void {
  describe("appending", () => {
    test("events are numbered 1, 2, 3 … across all appends of a run", async () => {
      const log = await openFor(subject);
      const first = await startRun(log, "run", 2);
      const second = await log.append(first, nextEvents(first, 3));

      expect([first.head, second.head]).toEqual([2, 5]);
      const page = await log.read(asRunId("run"), { after: 0 });
      expect(page).toEqual({ events: events(1, 5), records: [], head: 5 });
    });

    test("a batch can have only records, only a row, or nothing", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      const named = await log.append(cursor, { events: [], records: [], run: row() });
      const noted = await log.append(named, { events: [], records: [record(1, 0), record(2, 0)] });
      const same = await log.append(noted, { events: [], records: [] });

      expect(same).toMatchObject({ head: 0, records: 2 });
      const page = await log.read(asRunId("run"), { after: 0, records: true });
      expect(page).toEqual({ events: [], records: [record(1, 0), record(2, 0)], head: 0 });
    });

    test("an event is read back byte for byte", async () => {
      const log = await openFor(subject);
      const texts = ["é€😀", "line\nbreak \u2028 and \\n", '"', "\u0000", "x".repeat(200_000)];
      const encoded = texts.map((content, index) => JSON.stringify({ id: index + 1, content }));
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: encoded, records: [], run: row() });

      expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(encoded);
    });

    test("concurrent appends to several runs do not mix", async () => {
      const log = await openFor(subject);
      const ids = Array.from({ length: 40 }, (_, index) => `run-${index}`);
      await Promise.all(ids.map((id, index) => startRun(log, id, index + 1)));

      const pages = await Promise.all(ids.map(async (id) => log.read(asRunId(id), { after: 0 })));
      for (const [index, page] of pages.entries()) {
        expect(page).toEqual({ events: events(1, index + 1), records: [], head: index + 1 });
      }
    });

    test("a used cursor is fenced, and nothing changes", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      const next = await log.append(cursor, nextEvents(cursor, 2));

      await expect(async () => log.append(cursor, nextEvents(cursor, 2))).rejects.toBeInstanceOf(Fenced);
      expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 2));
      expect(await log.append(next, nextEvents(next, 1))).toMatchObject({ head: 3 });
    });

    test("of two appends with one cursor at once only the first is taken", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const append = async (count: number) => log.append(cursor, nextEvents(cursor, count));
      const [first, second] = await Promise.allSettled([append(2), append(3)]);
      expect(first).toMatchObject({ status: "fulfilled", value: { head: 3 } });
      expect(second).toMatchObject({ status: "rejected", reason: { name: "Fenced" } });
      expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 3));
    });

    test("a cursor is fenced after an append of only records", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      await log.append(cursor, { events: [], records: [record(1, 1)] });

      const again = log.append(cursor, { events: [], records: [record(1, 1)] });
      await expect(again).rejects.toBeInstanceOf(Fenced);
      const page = await log.read(asRunId("run"), { after: 0, records: true });
      expect(page.records).toEqual([record(1, 1)]);
    });

    test("a claim increments the epoch and fences every older cursor", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "run", 2);
      const { cursor } = await log.claim(asRunId("run"));

      expect(cursor.epoch).toBeGreaterThan(old.epoch);
      expect(cursor).toMatchObject({ runId: "run", head: 2, records: 0 });
      const stale = log.append(old, {
        ...nextEvents(old, 1),
        run: row({ turns: 9 }),
        requests: [{ requestId: asRequestId("late"), phase: "queued", createdAt: 1 }],
        alias: alias("late"),
        references: [{ thing: "late" }],
        snapshot: "late",
      });
      await expect(stale).rejects.toBeInstanceOf(Fenced);
      expect(await log.read(asRunId("run"), { after: 0 })).toMatchObject({ head: 2 });
      expect(await log.run(asRunId("run"))).toMatchObject({ turns: 1 });
      expect(await log.lookup(asRequestId("late"))).toBeUndefined();
      expect(await log.find(alias("late"))).toBeUndefined();
      expect(await log.unreferenced(["late"])).toEqual(["late"]);
      expect(await log.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 3 });
    });

    test("a claim during an append finds all of it or nothing", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const appended = Promise.resolve(log.append(cursor, nextEvents(cursor, 3))).then(
        (next) => next.head,
        () => 1,
      );
      const claim = await log.claim(asRunId("run"));

      expect(claim.cursor.head).toBe(await appended);
      expect(claim.run?.head).toBe(claim.cursor.head);
      expect(await log.read(asRunId("run"), { after: 0 })).toMatchObject({ head: claim.cursor.head });
    });

    test("a released cursor is fenced", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      log.release(cursor);

      await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Fenced);
      const claim = await log.claim(asRunId("run"));
      expect(claim.cursor.head).toBe(1);
      expect(claim.cursor.epoch).toBeGreaterThan(cursor.epoch);
    });

    test("a cursor that is released right after an append of events is fenced", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const next = await log.append(cursor, nextEvents(cursor, 1));
      log.release(next);
      await expect(async () => log.append(next, nextEvents(next, 1))).rejects.toBeInstanceOf(Fenced);
      expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 2));
    });

    test("releasing an older cursor does not affect the owner of the run", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "run", 1);
      const { cursor } = await log.claim(asRunId("run"));
      log.release(old);

      expect(await log.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 2 });
    });

    test("a claim that is released without an append creates no run", async () => {
      const log = await openFor(subject);
      const { cursor, run } = await log.claim(asRunId("run"));
      log.release(cursor);

      expect(run).toBeUndefined();
      expect(await log.run(asRunId("run"))).toBeUndefined();
      expect((await log.list({ limit: 10 })).runs).toEqual([]);
      await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Fenced);
    });

    test("a claim finds the newest snapshot and its coverage", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      expect((await log.claim(asRunId("run"))).snapshot).toBeUndefined();

      const { cursor: second } = await log.claim(asRunId("run"));
      const records = [record(1, 2)];
      const third = await log.append(second, { events: [], records, snapshot: { memory: 1 } });
      const data = { memory: { notes: ["é", null] } };
      const fourth = await log.append(third, { ...nextEvents(third, 1), snapshot: data });
      await log.append(fourth, nextEvents(fourth, 4));

      expect(cursor.head).toBe(2);
      const claim = await log.claim(asRunId("run"));
      expect(claim.snapshot).toEqual({ head: 3, records: 1, data });
      expect(claim.cursor).toMatchObject({ head: 7, records: 1 });
    });
  });
}
