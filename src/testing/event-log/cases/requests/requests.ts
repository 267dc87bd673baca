import { describe, expect, test } from "vitest";
import { AgentError } from "../../../../errors.ts";
import type { RequestMark } from "../../../../ports/log-batch.ts";
import { accepted, events, nextEvents, openFor, asRequestId, asRunId, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The entries of requests in the index. */
export function testRequests(subject: EventLogSubject): void {
  describe("requests", () => {
    test("an unknown request is not found", async () => {
      const log = await openFor(subject);
      expect(await log.lookup(asRequestId("none"))).toBeUndefined();
      expect(await log.open()).toEqual([]);
    });

    test("the marks of a request are merged, across batches and within one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const queued = accepted("first", { createdAt: 5_000, accepted: { n: 3, after: 1 } });
      const second = await log.append(cursor, { events: [], records: [], requests: [queued] });
      expect(await log.lookup(asRequestId("first"))).toEqual({ ...queued, runId: "run" });

      const third = await log.append(second, {
        ...nextEvents(second, 3),
        requests: [
          { requestId: asRequestId("first"), phase: "running", started: 2, segment: 2 },
          { requestId: asRequestId("first"), phase: "waiting" },
        ],
      });
      const waiting = { ...queued, runId: "run", phase: "waiting", started: 2, segment: 2 };
      expect(await log.lookup(asRequestId("first"))).toEqual(waiting);

      await log.append(third, {
        ...nextEvents(third, 2),
        requests: [
          { requestId: asRequestId("first"), phase: "running", segment: 5 },
          { requestId: asRequestId("first"), phase: "completed", completed: 6 },
        ],
      });
      const completed = { ...waiting, phase: "completed", segment: 5, completed: 6 };
      expect(await log.lookup(asRequestId("first"))).toEqual(completed);
    });

    test("a request can start and complete in one batch", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const mark = accepted("quick", { createdAt: 7, accepted: { n: 1, after: 1 } });
      await log.append(cursor, {
        ...nextEvents(cursor, 2),
        requests: [mark, { requestId: mark.requestId, phase: "completed", started: 2, completed: 3 }],
      });

      expect(await log.lookup(mark.requestId)).toMatchObject({ phase: "completed", createdAt: 7 });
      expect(await log.open()).toEqual([]);
    });

    test("an event that the index refers to can be read at once", async () => {
      const log = await openFor(subject);
      for (let round = 0; round < 50; round += 1) {
        const cursor = await startRun(log, `round-${round}`, 1);
        const mark = accepted(`in-time-${round}`, { createdAt: 1, accepted: { n: 1, after: 1 } });
        let appending = true;
        const append = Promise.resolve(
          log.append(cursor, {
            ...nextEvents(cursor, 1),
            requests: [{ ...mark, phase: "completed", completed: 2 }],
          }),
        ).finally(() => {
          appending = false;
        });
        while (appending) {
          const { completed = 0 } = (await log.lookup(mark.requestId)) ?? {};
          const { events: readable, head } = await log.read(cursor.runId, { after: 0 });
          const row = await log.run(cursor.runId);
          expect(readable.length).toBeGreaterThanOrEqual(completed);
          expect(head).toBe(readable.length);
          expect(row?.head).toBeLessThanOrEqual((await log.read(cursor.runId, { after: 0 })).head);
          // The append runs between two turns of the event loop.
          await new Promise<void>((resolve) => {
            setImmediate(resolve);
          });
        }
        await append;
      }
    });

    test("a request belongs to one run; a mark from another run is a conflict", async () => {
      const log = await openFor(subject);
      const first = await startRun(log, "first", 1);
      const mark = accepted("same", { createdAt: 1 });
      await log.append(first, { events: [], records: [], requests: [mark] });
      const other = await startRun(log, "other", 1);

      const refused = log.append(other, { ...nextEvents(other, 1), requests: [mark] });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      await expect(refused).rejects.toBeInstanceOf(AgentError);
      expect(await log.lookup(asRequestId("same"))).toMatchObject({ runId: "first" });
      expect((await log.read(asRunId("other"), { after: 0 })).events).toEqual(events(1, 1));
    });

    test("a run whose first request is one of another run is not made, also if that one was removed", async () => {
      const log = await openFor(subject);
      const mark = accepted("same", { createdAt: 1 });
      const started = await startRun(log, "first", 1);
      const first = await log.append(started, { events: [], records: [], requests: [mark] });
      for (const id of ["second", "third"].map(asRunId)) {
        if (id === "third") await log.remove(first);
        const { cursor } = await log.claim(id, { isNew: true });
        const refused = async (): Promise<unknown> =>
          log.append(cursor, { ...nextEvents(cursor, 1), requests: [mark] });
        await expect(refused).rejects.toMatchObject({ code: "conflict" });
        log.release(cursor);
        expect(await log.run(id)).toBeUndefined();
        expect(await log.lookup(asRequestId("same"))).toMatchObject({ runId: "first" });
      }
    });

    test("the requests of a run are listed with their marks, the one accepted last first", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 2);
      const other = await startRun(log, "other", 1);
      const mark = (name: string, n: number, after: number): RequestMark =>
        accepted(name, { createdAt: 7, accepted: { n, after } });
      await log.append(other, { events: [], records: [], requests: [mark("of-another", 9, 1)] });
      // The names and times are not in the order of acceptance; of those with one number, the position decides.
      for (const requests of [[mark("c", 1, 0), mark("a", 2, 0)], [mark("d", 3, 1)], [mark("b", 3, 2)]])
        cursor = await log.append(cursor, { events: [], records: [], requests });
      const ended = { requestId: asRequestId("c"), phase: "completed", started: 1, completed: 2 } as const;
      cursor = await log.append(cursor, { events: [], records: [], requests: [ended] });

      const list = async (limit: number): Promise<readonly string[]> =>
        (await log.requests({ runId: asRunId("run"), limit })).map((entry) => entry.requestId);
      expect(await list(10)).toEqual(["b", "d", "a", "c"]);
      expect(await list(2)).toEqual(["b", "d"]);
      const all = await log.requests({ runId: asRunId("run"), limit: 4 });
      expect(all.at(-1)).toEqual(await log.lookup(asRequestId("c")));
      expect(await log.requests({ runId: asRunId("unknown"), limit: 4 })).toEqual([]);
      await log.remove(cursor);
      expect(await list(10)).toEqual([]);
    });
  });
}
