import { describe, expect, test } from "vitest";
import { AgentError } from "../../errors.ts";
import type { Cursor, RequestMark, WaitMark } from "../../ports/event-log.ts";
import type { SleepQuery, WaitQuery } from "../../ports/log-queries.ts";
import type { EventLogSubject } from "./subject.ts";
import { events, nextEvents, openFor, requestId, row, runId, startRun, alias } from "./subject.ts";

/** The request index and run aliases. */
export function testRequests(subject: EventLogSubject): void {
  describe("requests", () => {
    test("an unknown request is not found", async () => {
      const log = await openFor(subject);
      expect(await log.lookup(requestId("none"))).toBeUndefined();
      expect(await log.open()).toEqual([]);
    });

    test("the marks of a request are merged, across batches and within one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const queued = accepted("first", { createdAt: 5_000, accepted: { n: 3, after: 1 } });
      const second = await log.append(cursor, { events: [], records: [], requests: [queued] });
      expect(await log.lookup(requestId("first"))).toEqual({ ...queued, runId: "run" });

      const third = await log.append(second, {
        ...nextEvents(second, 3),
        requests: [
          { requestId: requestId("first"), phase: "running", started: 2, segment: 2 },
          { requestId: requestId("first"), phase: "waiting" },
        ],
      });
      const waiting = { ...queued, runId: "run", phase: "waiting", started: 2, segment: 2 };
      expect(await log.lookup(requestId("first"))).toEqual(waiting);

      await log.append(third, {
        ...nextEvents(third, 2),
        requests: [
          { requestId: requestId("first"), phase: "running", segment: 5 },
          { requestId: requestId("first"), phase: "completed", completed: 6 },
        ],
      });
      const completed = { ...waiting, phase: "completed", segment: 5, completed: 6 };
      expect(await log.lookup(requestId("first"))).toEqual(completed);
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

    test("what a request rests on is found, until it rests no longer or is completed", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 1);
      const mark = async (...requests: RequestMark[]): Promise<unknown> => {
        cursor = await log.append(cursor, { events: [], records: [], requests });
        return (await log.lookup(requestId("asks")))?.rests;
      };
      const id = requestId("asks");
      const rests = [requestId("ask_1"), requestId("ask_2")];
      expect(await mark(accepted("asks", { phase: "running" }))).toBeUndefined();
      expect(await mark({ requestId: id, phase: "running", rests })).toEqual(rests);
      expect(await mark({ requestId: id, phase: "waiting" })).toEqual(rests);
      expect(await mark({ requestId: id, phase: "running", rests: [] })).toBeUndefined();
      expect(await log.resting()).toEqual([]);
      expect(await mark({ requestId: id, phase: "running", rests })).toEqual(rests);
      expect(await log.resting()).toMatchObject([{ requestId: id, runId: "run", rests }]);
      expect(await mark({ requestId: id, phase: "completed", completed: 1 })).toBeUndefined();
      expect(await log.resting()).toEqual([]);
    });

    test("a wait is listed from its opening to its closing, the oldest first", async () => {
      const log = await openFor(subject);
      const ids = async (query: Partial<WaitQuery> = {}): Promise<string[]> =>
        (await log.waits({ limit: 10, ...query })).waits.map(({ runId: run, waitId }) => `${run}:${waitId}`);
      const wait = (waitId: number, openedAt: number, request = "first"): WaitMark => ({
        waitId,
        requestId: requestId(request),
        openedAt,
      });
      const mark = accepted("first", { createdAt: 1, phase: "waiting", started: 1 });
      const one = await log.append(await startRun(log, "one", 4), {
        events: [],
        records: [],
        requests: [mark],
        waits: [wait(2, 30), wait(3, 10), wait(4, 50)],
      });
      const { cursor } = await log.claim(runId("two"));
      const two = await log.append(cursor, {
        ...nextEvents(cursor, 2),
        run: row({ agent: "other" }),
        waits: [wait(2, 20, "second")],
      });
      const busy = row({ status: "waiting", started: requestId("first") });
      const marks = [
        { requestId: requestId("first"), phase: "waiting", wakeAt: 9_000 } as const,
        accepted("behind", { createdAt: 2 }),
      ];
      const listed = await log.append(one, { events: [], records: [], run: busy, requests: marks });
      expect(await log.run(runId("one"))).toMatchObject({ openWaits: 3, queued: 1, wakeAt: 9_000 });
      expect((await log.list({ limit: 9, status: "waiting" })).runs).toMatchObject([
        { openWaits: 3, queued: 1 },
      ]);
      expect(await ids()).toEqual(["one:3", "two:2", "one:2", "one:4"]);
      expect(await ids({ agent: "other" })).toEqual(["two:2"]);
      expect(await ids({ runId: runId("one") })).toEqual(["one:3", "one:2", "one:4"]);
      expect(await ids({ runId: runId("one"), requestId: requestId("second") })).toEqual([]);
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
      const ends = { requestId: requestId("first"), phase: "completed", completed: 4 } as const;
      await log.append(later, { events: [], records: [], requests: [ends] });
      expect(await ids()).toEqual(["two:2"]);
      await log.remove(two);
      expect(await ids()).toEqual([]);
    });

    test("an entry of an outbox is listed until it is done", async () => {
      const log = await openFor(subject);
      const reply = { requestId: requestId("first"), kind: "reply", event: 1 } as const;
      const cancel = { requestId: requestId("second"), kind: "cancel", event: 2 } as const;
      const run = await startRun(log, "run", 2);
      const added = await log.append(run, { events: [], records: [], outbox: [reply] });
      const again = await log.append(added, { events: [], records: [], outbox: [cancel] });
      const other = await startRun(log, "other", 1);
      await log.append(other, { events: [], records: [], outbox: [reply] });
      const entries = [reply, cancel].map((entry) => ({ ...entry, runId: "run" }));
      expect(await log.outbox({ runId: runId("run") })).toEqual(entries);
      expect(await log.outbox({ runId: runId("none") })).toEqual([]);
      expect(await log.outbox({})).toHaveLength(3);

      const done = await log.append(again, {
        events: [],
        records: [],
        outbox: [
          { ...reply, done: true },
          { requestId: requestId("third"), kind: "reply", event: 2 },
          { requestId: requestId("third"), kind: "reply", event: 2, done: true },
        ],
      });
      expect(await log.outbox({ runId: runId("run") })).toEqual([{ ...cancel, runId: "run" }]);
      await log.remove(done);
      expect(await log.outbox({ runId: runId("run") })).toEqual([]);
      expect(await log.outbox({})).toEqual([{ ...reply, runId: "other" }]);
    });

    test("the row of a run names the request that has started, until a row without one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const started = requestId("first");
      const next = await log.append(cursor, { events: [], records: [], run: row({ started }) });
      expect((await log.run(runId("run")))?.started).toBe(started);
      await log.append(next, { events: [], records: [], run: row() });
      expect(await log.run(runId("run"))).not.toHaveProperty("started");
    });

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

      await mark(waiting, { requestId: requestId("waits"), phase: "completed", completed: 1 });
      await mark(sleeping, { requestId: requestId("sleeps"), phase: "running", wakeAt: 0 });
      expect(await opened()).toEqual(["behind", "sleeps", "runs"]);
      expect(await log.lookup(requestId("sleeps"))).not.toHaveProperty("wakeAt");
    });

    test("a request that rests without a wake time is not open until it works again", async () => {
      const log = await openFor(subject);
      const waitingFor = { kind: "sleep", expires_at: "2026-01-01T00:00:00.000Z" } as const;
      const mark = accepted("rests", { createdAt: 1, phase: "running", started: 1, waitingFor });
      const cursor = await startRun(log, "run", 1);
      const second = await log.append(cursor, { events: [], records: [], requests: [mark] });
      expect(await log.open()).toEqual([]);
      expect(await log.lookup(requestId("rests"))).toMatchObject({ waitingFor });
      expect(await log.asleep({})).toEqual([]);

      const works = { requestId: requestId("rests"), phase: "running", waitingFor: null } as const;
      const third = await log.append(second, { events: [], records: [], requests: [works] });
      expect(await log.open()).toMatchObject([{ requestId: "rests" }]);
      expect(await log.lookup(requestId("rests"))).not.toHaveProperty("waitingFor");

      const ends = { requestId: requestId("rests"), phase: "completed", completed: 1 } as const;
      await log.append(third, { events: [], records: [], requests: [{ ...mark }, ends] });
      expect(await log.lookup(requestId("rests"))).not.toHaveProperty("waitingFor");
    });

    test("a request that waits for input can have a wake time", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const mark = accepted("waits", { createdAt: 1, phase: "waiting", started: 1, wakeAt: 9_000 });
      await log.append(cursor, { events: [], records: [], requests: [mark] });
      expect(await log.open()).toEqual([]);
      expect(await log.asleep({})).toMatchObject([{ requestId: "waits", phase: "waiting", wakeAt: 9_000 }]);
    });

    test("asleep lists the sleeping requests by wake time", async () => {
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
      const asleep = async (query: SleepQuery): Promise<string[]> =>
        (await log.asleep(query)).map((entry) => String(entry.requestId));

      expect(await asleep({})).toEqual(["until-5000", "until-7000", `until-${2 ** 42}`]);
      expect(await asleep({ limit: 1 })).toEqual(["until-5000"]);
      expect(await asleep({ notAfter: 7_000 })).toEqual(["until-5000", "until-7000"]);
      expect(await asleep({ after: 5_000, limit: 1 })).toEqual(["until-7000"]);
      expect(await log.lookup(requestId("until-7000"))).toMatchObject({ wakeAt: 7_000, runId: "run-0" });
      expect(await log.lookup(requestId("until-6000"))).not.toHaveProperty("wakeAt");
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
      expect(await log.lookup(requestId("same"))).toMatchObject({ runId: "first" });
      expect((await log.read(runId("other"), { after: 0 })).events).toEqual(events(1, 1));
    });
  });

  describe("aliases", () => {
    test("a run is found by its alias", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(runId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("chat 7/é") });

      expect(await log.find(alias("chat 7/é"))).toBe("run");
      expect(await log.find(alias("chat 7"))).toBeUndefined();
    });

    test("two agents can give the same alias to a run each", async () => {
      const log = await openFor(subject);
      const [first, second] = ["first", "second"].map((agent) => ({ agent, name: "name" }) as const);
      if (first === undefined || second === undefined) return;
      const one = await startRun(log, "one", 1);
      const two = await startRun(log, "two", 1);
      const named = await log.append(one, { events: [], records: [], alias: first });
      await log.append(two, { events: [], records: [], alias: second });
      expect([await log.find(first), await log.find(second)]).toEqual(["one", "two"]);
      expect(await log.find(alias("name"))).toBeUndefined();
      await log.remove(named);
      expect([await log.find(first), await log.find(second)]).toEqual([undefined, "two"]);
    });

    test("an alias of another run is a conflict that changes nothing", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(runId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const other = await startRun(log, "other", 2);

      const refused = log.append(other, {
        ...nextEvents(other, 1),
        records: [{ n: 1, after: 2, type: "Alias" }],
        run: row({ turns: 9 }),
        requests: [accepted("refused", { createdAt: 1 })],
        alias: alias("name"),
        snapshot: {},
      });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await log.find(alias("name"))).toBe("run");
      const page = await log.read(runId("other"), { after: 0, records: true });
      expect(page).toEqual({ events: events(1, 2), records: [], head: 2 });
      expect(await log.run(runId("other"))).toMatchObject({ turns: 1 });
      expect(await log.lookup(requestId("refused"))).toBeUndefined();
      expect((await log.claim(runId("other"))).snapshot).toBeUndefined();
    });

    test("after a batch was refused for its alias, the next one can be appended", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(runId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const other = await startRun(log, "other", 1);
      const refused = log.append(other, { events: [], records: [], alias: alias("name") });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });

      expect(await log.append(other, nextEvents(other, 1))).toMatchObject({ head: 2 });
    });

    test("when many runs request one alias concurrently, one gets it", async () => {
      const log = await openFor(subject);
      const attempts = Array.from({ length: 8 }, async (_, index) => {
        const { cursor } = await log.claim(runId(`run-${index}`));
        await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
        return cursor.runId;
      });
      const settled = await Promise.allSettled(attempts);

      const winners = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(winners).toEqual([await log.find(alias("name"))]);
    });
  });
}

function accepted(id: string, fields: Partial<RequestMark>): RequestMark {
  return { requestId: requestId(id), phase: "queued", accepted: { n: 1, after: 0 }, ...fields };
}
