import { describe, expect, test } from "vitest";
import type { WaitMark } from "../../../../ports/log-batch.ts";
import type { WaitEntryQuery } from "../../../../ports/log-queries.ts";
import { accepted, nextEvents, openFor, asRequestId, row, asRunId, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The list of open waits. */
export function testWaits(subject: EventLogSubject): void {
  describe("waits", () => {
    test("a wait is listed from its opening to its closing, the oldest first", async () => {
      const log = await openFor(subject);
      const ids = async (query: Partial<WaitEntryQuery> = {}): Promise<string[]> =>
        (await log.waits({ limit: 10, ...query })).waits.map(({ runId: run, waitId }) => `${run}:${waitId}`);
      const wait = (waitId: number, openedAt: number, request = "first"): WaitMark => ({
        waitId,
        requestId: asRequestId(request),
        openedAt,
      });
      const mark = accepted("first", { createdAt: 1, phase: "waiting", started: 1 });
      const one = await log.append(await startRun(log, "one", 4), {
        events: [],
        records: [],
        requests: [mark],
        waits: [wait(2, 30), wait(3, 10), wait(4, 50)],
      });
      const { cursor } = await log.claim(asRunId("two"));
      const two = await log.append(cursor, {
        ...nextEvents(cursor, 2),
        run: row({ agent: "other" }),
        waits: [wait(2, 20, "second")],
      });
      const busy = row({ status: "waiting", started: asRequestId("first") });
      const marks = [
        { requestId: asRequestId("first"), phase: "waiting", wakeAt: 9_000 } as const,
        accepted("behind", { createdAt: 2 }),
      ];
      const listed = await log.append(one, { events: [], records: [], run: busy, requests: marks });
      expect(await log.run(asRunId("one"))).toMatchObject({ openWaits: 3, queued: 1, wakeAt: 9_000 });
      expect((await log.list({ limit: 9, status: "waiting" })).runs).toMatchObject([
        { openWaits: 3, queued: 1 },
      ]);
      expect(await ids()).toEqual(["one:3", "two:2", "one:2", "one:4"]);
      expect(await ids({ agent: "other" })).toEqual(["two:2"]);
      const count = async (query: Partial<WaitEntryQuery>): Promise<number | undefined> =>
        (await log.waits({ limit: 1, ...query })).total;
      expect(await count({ total: 9 })).toBe(4);
      expect(await count({ total: 3 })).toBe(3);
      expect(await count({ total: 9, agent: "other" })).toBe(1);
      expect(await count({ total: 9, runId: asRunId("one") })).toBe(3);
      expect(await count({ total: 9, cursor: (await log.waits({ limit: 1 })).next ?? "" })).toBe(4);
      expect(await count({})).toBeUndefined();
      expect(await ids({ runId: asRunId("one") })).toEqual(["one:3", "one:2", "one:4"]);
      expect(await ids({ runId: asRunId("one"), requestId: asRequestId("second") })).toEqual([]);
      const { waits } = await log.waits({ limit: 1 });
      expect(waits).toEqual([{ runId: "one", requestId: "first", waitId: 3, openedAt: 10 }]);

      const seen: string[] = [];
      for (let page = await log.waits({ limit: 1 }); ;) {
        seen.push(...page.waits.map(({ runId: run, waitId }) => `${run}:${waitId}`));
        if (page.next === undefined) break;
        page = await log.waits({ limit: 1, cursor: page.next });
      }
      expect(seen).toEqual(["one:3", "two:2", "one:2", "one:4"]);
      await expect(log.waits({ limit: 1, cursor: "x" })).rejects.toMatchObject({ code: "invalid_request" });

      const closes = { events: [], records: [], waits: [{ ...wait(3, 0), closed: true }] };
      const later = await log.append(listed, closes);
      expect(await ids()).toEqual(["two:2", "one:2", "one:4"]);
      const ends = { requestId: asRequestId("first"), phase: "completed", completed: 4 } as const;
      await log.append(later, { events: [], records: [], requests: [ends] });
      expect(await ids()).toEqual(["two:2"]);
      await log.remove(two);
      expect(await ids()).toEqual([]);
    });
  });
}
