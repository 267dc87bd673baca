import { describe, expect, test } from "vitest";
import type { Cursor } from "../../../../ports/event-log.ts";
import type { RequestMark } from "../../../../ports/log-batch.ts";
import type { WakeQuery } from "../../../../ports/log-queries.ts";
import type { RunId } from "../../../../protocol/ids.ts";
import { accepted, nextEvents, openFor, asRequestId, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The requests that have work to do, and those that are parked. */
export function testOpenRequests(subject: EventLogSubject): void {
  describe("open requests", () => {
    test("open lists the requests with work to do, oldest first", async () => {
      const log = await openFor(subject);
      for (const [index, createdAt] of [30, 10, 20, 40].entries()) {
        const cursor = await startRun(log, `run-${index}`, 1);
        const mark = accepted(`at-${createdAt}`, { createdAt });
        const next = await log.append(cursor, { events: [], records: [], requests: [mark] });
        if (createdAt !== 20) continue;
        const requests = [{ requestId: mark.requestId, phase: "completed", completed: 2 } as const];
        await log.append(next, { ...nextEvents(next, 1), requests });
      }

      const open = await log.open();
      expect(open.map((entry) => entry.requestId)).toEqual(["at-10", "at-30", "at-40"]);
      expect(open[1]).toMatchObject({ runId: "run-0", phase: "queued" });
    });

    test("a request that waits or sleeps is not open, nor are those queued behind it, until it continues", async () => {
      const log = await openFor(subject);
      const mark = async (cursor: Cursor, ...requests: RequestMark[]): Promise<Cursor> =>
        log.append(cursor, { events: [], records: [], requests });
      const opened = async (): Promise<string[]> =>
        (await log.open()).map((entry) => String(entry.requestId));
      const waiting = await mark(
        await startRun(log, "waiting", 1),
        accepted("waits", { createdAt: 1, phase: "waiting", started: 1 }),
        accepted("behind", { createdAt: 2 }),
      );
      const sleeping = await mark(
        await startRun(log, "sleeping", 1),
        accepted("sleeps", { createdAt: 3, phase: "running", started: 1, wakeAt: 9_000 }),
        accepted("later", { createdAt: 4 }),
      );
      await mark(
        await startRun(log, "running", 1),
        accepted("runs", { createdAt: 5, phase: "running", started: 1 }),
      );
      expect(await opened()).toEqual(["runs"]);

      await mark(waiting, { requestId: asRequestId("waits"), phase: "completed", completed: 1 });
      await mark(sleeping, { requestId: asRequestId("sleeps"), phase: "running", wakeAt: 0 });
      expect(await opened()).toEqual(["behind", "sleeps", "runs"]);
      expect(await log.lookup(asRequestId("sleeps"))).not.toHaveProperty("wakeAt");
    });

    test("a request that is parked without a wake time is not open until it works again", async () => {
      const log = await openFor(subject);
      const waitingFor = { kind: "sleep", expires_at: "2026-01-01T00:00:00.000Z" } as const;
      const mark = accepted("parked", { createdAt: 1, phase: "running", started: 1, waitingFor });
      const cursor = await startRun(log, "run", 1);
      const second = await log.append(cursor, { events: [], records: [], requests: [mark] });
      expect(await log.open()).toEqual([]);
      expect(await log.lookup(asRequestId("parked"))).toMatchObject({ waitingFor });
      expect(await log.waking({})).toEqual([]);

      const works = { requestId: asRequestId("parked"), phase: "running", waitingFor: null } as const;
      const third = await log.append(second, { events: [], records: [], requests: [works] });
      expect(await log.open()).toMatchObject([{ requestId: "parked" }]);
      expect(await log.lookup(asRequestId("parked"))).not.toHaveProperty("waitingFor");

      const ends = { requestId: asRequestId("parked"), phase: "completed", completed: 1 } as const;
      await log.append(third, { events: [], records: [], requests: [{ ...mark }, ends] });
      expect(await log.lookup(asRequestId("parked"))).not.toHaveProperty("waitingFor");
    });

    test("a request that waits for input can have a wake time", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const mark = accepted("waits", { createdAt: 1, phase: "waiting", started: 1, wakeAt: 9_000 });
      await log.append(cursor, { events: [], records: [], requests: [mark] });
      expect(await log.open()).toEqual([]);
      expect(await log.waking({})).toMatchObject([{ requestId: "waits", phase: "waiting", wakeAt: 9_000 }]);
    });

    test("a fraction of a millisecond in a wake time is rounded up", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const mark = accepted("sleeps", { createdAt: 1, phase: "running", started: 1, wakeAt: 9_000.4 });
      await log.append(cursor, { events: [], records: [], requests: [mark] });
      expect(await log.waking({})).toMatchObject([{ requestId: "sleeps", wakeAt: 9_001 }]);
      expect(await log.lookup(asRequestId("sleeps"))).toMatchObject({ wakeAt: 9_001 });
    });

    test("waking lists the requests that must continue at a time, the first one first", async () => {
      const log = await openFor(subject);
      const times = [7_000, 5_000, 2 ** 42, 6_000];
      for (const [index, wakeAt] of times.entries()) {
        const cursor = await startRun(log, `run-${index}`, 1);
        const mark = accepted(`until-${wakeAt}`, { createdAt: 1, phase: "running", wakeAt });
        const next = await log.append(cursor, { events: [], records: [], requests: [mark] });
        if (wakeAt !== 6_000) continue;
        const requests = [{ requestId: mark.requestId, phase: "completed", completed: 1 } as const];
        await log.append(next, { events: [], records: [], requests });
      }
      const waking = async (query: WakeQuery): Promise<string[]> =>
        (await log.waking(query)).map((entry) => String(entry.requestId));

      expect(await waking({})).toEqual(["until-5000", "until-7000", `until-${2 ** 42}`]);
      expect(await waking({ limit: 1 })).toEqual(["until-5000"]);
      expect(await waking({ notAfter: 7_000 })).toEqual(["until-5000", "until-7000"]);
      expect(await waking({ after: 5_000, limit: 1 })).toEqual(["until-7000"]);
      expect(await log.lookup(asRequestId("until-7000"))).toMatchObject({ wakeAt: 7_000, runId: "run-0" });
      expect(await log.lookup(asRequestId("until-6000"))).not.toHaveProperty("wakeAt");
    });

    test("what a request is parked on is found, until it is parked no longer or is completed", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 1);
      const mark = async (...requests: RequestMark[]): Promise<unknown> => {
        cursor = await log.append(cursor, { events: [], records: [], requests });
        return (await log.lookup(asRequestId("asks")))?.parkedOn;
      };
      const id = asRequestId("asks");
      const parkedOn = [asRequestId("ask_1"), asRequestId("ask_2")];
      expect(await mark(accepted("asks", { phase: "running" }))).toBeUndefined();
      expect(await mark({ requestId: id, phase: "running", parkedOn })).toEqual(parkedOn);
      expect(await mark({ requestId: id, phase: "waiting" })).toEqual(parkedOn);
      expect(await mark({ requestId: id, phase: "running", parkedOn: [] })).toBeUndefined();
      expect(await log.parked({ limit: 1 })).toEqual([]);
      expect(await mark({ requestId: id, phase: "running", parkedOn })).toEqual(parkedOn);
      expect(await log.parked({ limit: 1 })).toMatchObject([{ requestId: id, runId: "run", parkedOn }]);
      expect(await mark({ requestId: id, phase: "completed", completed: 1 })).toBeUndefined();
      expect(await log.parked({ limit: 1 })).toEqual([]);
    });

    test("what is parked on asks is listed in pages", async () => {
      const log = await openFor(subject);
      const all = ["c", "a", "d", "b"];
      for (const name of all) {
        const cursor = await startRun(log, name, 1);
        const requests = [accepted(name, { phase: "running", parkedOn: [asRequestId("ask")] })];
        await log.append(cursor, { events: [], records: [], requests });
      }
      const listed: RunId[] = [];
      for (let after: RunId | undefined; ;) {
        const page = await log.parked({ after, limit: 3 });
        expect(page.length).toBeLessThanOrEqual(3);
        if (page.length === 0) break;
        listed.push(...page.map(({ runId }) => runId));
        after = listed.at(-1);
      }
      expect(listed.toSorted()).toEqual(all.toSorted());
    });
  });
}
