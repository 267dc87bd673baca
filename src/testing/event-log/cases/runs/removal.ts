import { describe, expect, test } from "vitest";
import { Fenced } from "../../../../ports/event-log.ts";
import type { Cursor } from "../../../../ports/event-log.ts";
import type { ReferenceMark } from "../../../../ports/log-batch.ts";
import { nextEvents, openFor, asRequestId, row, asRunId, startRun, alias } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The removal of runs, and what runs refer to outside the log. */
export function testRemoval(subject: EventLogSubject): void {
  describe("removal", () => {
    test("runs that are removed at once are all removed, except one whose claim does not hold", async () => {
      const log = await openFor(subject);
      const names = ["e", "b", "stays", "d", "a", "c"];
      const cursors: Cursor[] = [];
      for (const id of names) cursors.push(await startRun(log, id, 2));
      // Another claim of the run fences the first.
      const { cursor } = await log.claim(asRunId("stays"));
      const ends = await Promise.allSettled(cursors.map(async (each) => log.remove(each)));

      expect(names.filter((_, index) => ends[index]?.status === "rejected")).toEqual(["stays"]);
      for (const id of names) {
        const isKept = id === "stays";
        expect((await log.run(asRunId(id)))?.removed === true).toBe(!isKept);
        expect((await log.read(asRunId(id), { after: 0 })).events).toHaveLength(isKept ? 2 : 0);
      }
      await log.append(cursor, nextEvents(cursor, 1));
    });

    test("a removed run is gone with all its content", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      const full = await log.append(cursor, {
        ...nextEvents(cursor, 1),
        records: [{ n: 1, after: 2, type: "Now" }],
        requests: [{ requestId: asRequestId("request"), phase: "queued", createdAt: 1 }],
        alias: alias("name"),
        snapshot: {},
      });
      await log.remove(full);

      const page = await log.read(asRunId("run"), { after: 0, records: true });
      expect(page).toEqual({ events: [], records: [], head: 0 });
      expect(await log.run(asRunId("run"))).toMatchObject({ runId: "run", removed: true, head: 0 });
      expect(await log.lookup(asRequestId("request"))).toEqual({
        requestId: "request",
        runId: "run",
        phase: "completed",
        createdAt: 0,
        accepted: { n: 0, after: 0 },
        removed: true,
      });
      expect(await log.open()).toEqual([]);
      expect(await log.find(alias("name"))).toBeUndefined();
      expect((await log.list({ limit: 10 })).runs).toEqual([]);
      await expect(async () => log.append(full, nextEvents(full, 1))).rejects.toBeInstanceOf(Fenced);
    });

    test("a reader that follows a run is woken by its removal, and then sees none of its events", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      // A first look at everything: an engine may have loaded the run for it.
      expect(await log.read(cursor.runId, { after: 2 })).toMatchObject({ head: 2 });
      const seen = new Promise<number>((resolve, reject) => {
        const stop = log.tail(cursor.runId, () => {
          const look = async (): Promise<number> => (await log.read(cursor.runId, { after: 2 })).head;
          look().then(resolve, reject).finally(stop);
        });
      });
      await log.remove(cursor);
      expect(await seen).toBe(0);
    });

    test("the id of a removed run is not used again; its alias can be", async () => {
      const log = await openFor(subject);
      const first = await startRun(log, "run", 1);
      await log.remove(await log.append(first, { events: [], records: [], alias: alias("name") }));

      const { cursor, run, snapshot } = await log.claim(asRunId("run"));
      expect(run).toMatchObject({ removed: true });
      expect(snapshot).toBeUndefined();
      const append = log.append(cursor, { events: [], records: [], run: row() });
      await expect(append).rejects.toMatchObject({ code: "gone" });
      const other = await startRun(log, "other", 1);
      await log.append(other, { events: [], records: [], alias: alias("name") });
      expect(await log.find(alias("name"))).toBe("other");
    });

    test("a thing outside the log is referenced until the last run that refers to it drops it or is removed", async () => {
      const log = await openFor(subject);
      const [first, second] = [await startRun(log, "first", 1), await startRun(log, "second", 1)];
      const refer = (cursor: Cursor, ...references: readonly ReferenceMark[]) =>
        log.append(cursor, { events: [], records: [], references });
      const one = await refer(first, { thing: "shared" }, { thing: "own" }, { thing: "own" });
      const two = await refer(second, { thing: "shared" }, { thing: "dropped" });
      expect(await log.unreferenced(["shared", "own", "dropped", "unknown"])).toEqual(["unknown"]);

      await refer(two, { thing: "dropped", dropped: true }, { thing: "unknown", dropped: true });
      expect(await log.unreferenced(["dropped", "shared"])).toEqual(["dropped"]);
      expect(await log.remove(one)).toEqual(["own"]);
      expect(await log.unreferenced(["shared", "own"])).toEqual(["own"]);
      const { cursor } = await log.claim(asRunId("second"));
      expect(await log.remove(cursor)).toEqual(["shared"]);
      expect(await log.unreferenced(["shared"])).toEqual(["shared"]);
    });

    test("the request ids of a removed run are not used again", async () => {
      const log = await openFor(subject);
      const requests = [
        { requestId: asRequestId("request"), phase: "completed", createdAt: 1, completed: 2 } as const,
      ];
      const cursor = await startRun(log, "run", 2);
      await log.remove(await log.append(cursor, { events: [], records: [], requests }));
      const other = await startRun(log, "other", 1);

      const refused = log.append(other, { ...nextEvents(other, 1), requests });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await log.lookup(asRequestId("request"))).toMatchObject({ runId: "run", removed: true });
    });

    test("a scrub takes no other run along", async () => {
      const log = await openFor(subject);
      const removed = await startRun(log, "run", 2);
      const other = await startRun(log, "other", 2);
      await log.remove(removed);
      await log.scrub();
      await log.scrub();

      expect(await log.run(asRunId("run"))).toMatchObject({ removed: true });
      expect(await log.read(asRunId("other"), { after: 0 })).toMatchObject({ head: 2 });
      expect(await log.append(other, nextEvents(other, 1))).toMatchObject({ head: 3 });
    });

    test("only the owner can remove a run, and no other run is removed", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "run", 1);
      await startRun(log, "other", 2);
      const { cursor } = await log.claim(asRunId("run"));

      await expect(log.remove(old)).rejects.toBeInstanceOf(Fenced);
      expect(await log.read(asRunId("run"), { after: 0 })).toMatchObject({ head: 1 });
      await log.remove(cursor);
      expect(await log.read(asRunId("run"), { after: 0 })).toMatchObject({ head: 0 });
      expect(await log.read(asRunId("other"), { after: 0 })).toMatchObject({ head: 2 });
    });
  });
}
