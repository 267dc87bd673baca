import { describe, expect, test } from "vitest";
import { Fenced, Unavailable } from "../../../ports/event-log.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { EventLogSubject } from "../subject.ts";
import {
  events,
  nextEvents,
  openFor,
  record,
  reopenFor,
  asRequestId,
  row,
  asRunId,
  startRun,
  alias,
} from "../subject.ts";

/** Opening, closing and reopening. */
export function testLifecycle(subject: EventLogSubject): void {
  describe("opening and closing", () => {
    test("an open log accepts appends", async () => {
      const log = await openFor(subject);
      expect(log.health()).toEqual({ writable: true });
    });

    test("closing settles running appends", async () => {
      const log = await subject.open();
      const cursors = await Promise.all(
        Array.from({ length: 20 }, (_, index) => startRun(log, `run-${index}`, 1)),
      );
      let settled = 0;
      const appends = cursors.map(async (cursor) => {
        await log.append(cursor, nextEvents(cursor, 2));
        settled += 1;
      });
      await log.close();

      expect(settled).toBe(20);
      await Promise.all(appends);
    });

    test("a closed log refuses appends and reports it", async () => {
      const log = await subject.open();
      const cursor = await startRun(log, "run", 1);
      await log.close();

      expect(log.health()).toMatchObject({ writable: false });
      await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Unavailable);
    });

    test("closing twice has no further effect", async () => {
      const log = await subject.open();
      await Promise.all([log.close(), log.close()]);
      await expect(log.close()).resolves.toBeUndefined();
    });

    const reopen = subject.reopen?.bind(subject);
    if (reopen === undefined) return;

    test("acknowledged data is there after a reopen", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 3);
      cursor = await log.append(cursor, {
        ...nextEvents(cursor, 2),
        records: [record(1, 3), record(2, 5)],
        run: row({ status: "waiting", turns: 2, metadata: { a: 1 } }),
        requests: [
          { requestId: asRequestId("open"), phase: "running", createdAt: 4, started: 4, wakeAt: 50 },
        ],
        alias: alias("name"),
        references: [{ thing: "secret" }],
        snapshot: { at: 5 },
      });
      cursor = await log.append(cursor, nextEvents(cursor, 1));
      const removed = await startRun(log, "removed", 1);
      const requests = [{ requestId: asRequestId("gone"), phase: "queued", createdAt: 5 } as const];
      await log.remove(await log.append(removed, { events: [], records: [], requests }));
      const look = (log: EventLog) =>
        Promise.all([
          log.read(asRunId("run"), { after: 0, records: true }),
          log.run(asRunId("run")),
          log.lookup(asRequestId("open")),
          log.lookup(asRequestId("gone")),
          log.open(),
          log.waking({}),
          log.list({ limit: 10 }),
        ]);
      const before = await look(log);
      const again = await reopenFor(reopen, log);

      expect(before[0].events).toEqual(events(1, 6));
      expect(before[3]).toMatchObject({ runId: "removed", removed: true });
      expect(await look(again)).toEqual(before);
      expect(await again.find(alias("name"))).toBe("run");
      expect(await again.unreferenced(["secret", "other"])).toEqual(["other"]);
      expect(await again.run(asRunId("removed"))).toMatchObject({ removed: true });
      const claim = await again.claim(asRunId("run"));
      expect(claim.snapshot).toEqual({ head: 5, records: 2, data: { at: 5 } });
      expect(claim.cursor).toMatchObject({ head: 6, records: 2 });
    });

    test("after a reopen an old cursor is fenced, and a new claim has a higher epoch", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "run", 2);
      const again = await reopenFor(reopen, log);

      await expect(again.append(old, nextEvents(old, 1))).rejects.toBeInstanceOf(Fenced);
      const { cursor } = await again.claim(asRunId("run"));
      expect(cursor.epoch).toBeGreaterThan(old.epoch);
      await expect(again.append(old, nextEvents(old, 1))).rejects.toBeInstanceOf(Fenced);
      expect(await again.append(cursor, nextEvents(cursor, 1))).toMatchObject({ head: 3 });
    });
  });
}
