import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../../ports/event-log.ts";
import {
  asRequestId,
  asRunId,
  events,
  nextEvents,
  openFor,
  record,
  reopenFor,
  row,
  startRun,
} from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The removal of the beginning of a run. */
export function testBases(subject: EventLogSubject): void {
  const { reopen } = subject;

  describe("bases", () => {
    test("a run begins behind its base, and a read from before it gets the base with what follows", async () => {
      const log = await openFor(subject);
      await makeBase(log);

      for (const after of [0, 2]) {
        expect(await log.read(asRunId("run"), { after, records: true })).toEqual({
          events: events(4, 7),
          records: [record(3, 3), record(4, 6)],
          head: 7,
          base: BASE,
        });
      }
      expect(await log.read(asRunId("run"), { after: 0, limit: 2 })).toMatchObject({
        events: events(4, 5),
        head: 7,
        base: BASE,
      });
      expect(await log.read(asRunId("run"), { after: 3, records: true })).toEqual({
        events: events(4, 7),
        records: [record(3, 3), record(4, 6)],
        head: 7,
      });
      expect(await log.snapshot(asRunId("run"))).toEqual({ head: 6, records: 3, data: "all" });
      expect(await log.run(asRunId("run"))).toMatchObject({ head: 7 });
    });

    test("what is removed takes no space, at the latest when the base moves again", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 1);
      for (let next = 2; next <= 40; next += 1) cursor = await log.append(cursor, nextEvents(cursor, 1));
      const before = await log.size(asRunId("run"));
      cursor = await log.append(cursor, {
        ...nextEvents(cursor, 1),
        base: { head: 35, records: 0, data: 1 },
      });
      cursor = await log.append(cursor, nextEvents(cursor, 2));
      expect(await log.read(asRunId("run"), { after: 0 })).toMatchObject({
        events: events(36, 43),
        head: 43,
        base: { head: 35, data: 1 },
      });
      cursor = await log.append(cursor, {
        ...nextEvents(cursor, 1),
        base: { head: 43, records: 0, data: 2 },
      });
      cursor = await log.append(cursor, nextEvents(cursor, 2));

      expect(await log.size(asRunId("run"))).toBeLessThan(before / 5);
      const page = await log.read(asRunId("run"), { after: 40 });
      expect(page).toMatchObject({ events: events(44, 46), head: 46, base: { head: 43, data: 2 } });
      const behind = await log.read(asRunId("run"), { after: 43 });
      expect(behind).toEqual({ events: events(44, 46), records: [], head: 46 });
      expect(cursor).toMatchObject({ head: 46, records: 0 });
    });

    test("a base moves on, also from claim to claim, and is removed with its run", async () => {
      const log = await openFor(subject);
      await makeBase(log);
      const { cursor, run } = await log.claim(asRunId("run"));
      expect(cursor).toMatchObject({ head: 7, records: 4 });
      expect(run).toMatchObject({ head: 7 });
      const next = await log.append(cursor, {
        ...nextEvents(cursor, 1),
        base: { head: 7, records: 4, data: { kept: ["more"] } },
      });
      const page = await log.read(asRunId("run"), { after: 3, records: true });
      expect(page).toEqual({
        events: events(8, 8),
        records: [],
        head: 8,
        base: { head: 7, records: 4, data: { kept: ["more"] } },
      });
      await log.remove(next);
      expect(await log.read(asRunId("run"), { after: 0 })).toEqual({ events: [], records: [], head: 0 });
    });

    test("a base that the run has not reached moves it there, as a copy of the run begins", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      const batch = { events: events(101, 102), records: [record(21, 101)], run: row(), base: FAR };
      const first = await log.append(cursor, batch);
      expect(first).toMatchObject({ head: 102, records: 21 });
      const second = await log.append(first, {
        ...nextEvents(first, 1),
        records: [record(22, 103)],
        run: row(),
      });
      expect(second).toMatchObject({ head: 103, records: 22 });
      expect(await log.read(asRunId("run"), { after: 0, records: true })).toEqual({
        events: events(101, 103),
        records: [record(21, 101), record(22, 103)],
        head: 103,
        base: FAR,
      });

      const other = await startRun(log, "other", 3);
      await log.append(other, { events: events(101, 101), records: [], base: FAR });
      expect(await log.read(asRunId("other"), { after: 1 })).toMatchObject({
        events: events(101, 101),
        base: FAR,
      });
    });

    test.runIf(reopen)("a reopened log has the base", async () => {
      const log = await openFor(subject);
      await makeBase(log);
      const again = await reopenFor(reopen ?? (async () => log), log);
      const page = await again.read(asRunId("run"), { after: 1, records: true });
      expect(page).toMatchObject({ events: events(4, 7), records: [record(3, 3), record(4, 6)], base: BASE });
      const { cursor, snapshot } = await again.claim(asRunId("run"));
      expect(cursor).toMatchObject({ head: 7, records: 4 });
      expect(snapshot).toMatchObject({ head: 6, data: "all" });
      await again.append(cursor, nextEvents(cursor, 1));
      expect(await again.read(asRunId("run"), { after: 1 })).toMatchObject({
        events: events(4, 8),
        base: BASE,
      });
    });
  });
}

const BASE = { head: 3, records: 2, data: { kept: ['an "event"'] } };
const FAR = { head: 100, records: 20, data: null };

/** A run with seven events and four records, of which three and two are removed. */
async function makeBase(log: EventLog): Promise<void> {
  const first = await startRun(log, "run", 2);
  const second = await log.append(first, {
    ...nextEvents(first, 2),
    records: [record(1, 2), record(2, 2), record(3, 3)],
    requests: [
      { requestId: asRequestId("request"), phase: "running", createdAt: 1, accepted: { n: 1, after: 2 } },
    ],
  });
  const third = await log.append(second, nextEvents(second, 1));
  const fourth = await log.append(third, { ...nextEvents(third, 1), base: BASE, snapshot: "all" });
  await log.append(fourth, { ...nextEvents(fourth, 1), records: [record(4, 6)] });
}
