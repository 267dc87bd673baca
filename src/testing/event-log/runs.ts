import { describe, expect, test } from "vitest";
import { Fenced } from "../../ports/event-log.ts";
import type { Cursor, EventLog, ReferenceMark } from "../../ports/event-log.ts";
import type { RunQuery } from "../../ports/log-queries.ts";
import type { EventLogSubject } from "./subject.ts";
import { nextEvents, openFor, requestId, row, runId, startRun, alias } from "./subject.ts";

/** The rows of runs, their list, and their removal. */
export function testRuns(subject: EventLogSubject): void {
  describe("runs", () => {
    test("an unknown run has no row", async () => {
      const log = await openFor(subject);
      expect(await log.run(runId("none"))).toBeUndefined();
      expect((await log.claim(runId("none"))).run).toBeUndefined();
    });

    test("a row is replaced completely, and kept if a batch has none", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const full = row({
        agent: "payments",
        status: "waiting",
        createdAt: 1,
        updatedAt: 1_700_000_000_123,
        turns: 3,
        initialInput: { text: "pay é", list: [1, null] },
        metadata: { a: { b: "\n" } },
        lastTurn: { request_id: "req", operation: "pay", started_at: "2026-01-01T00:00:00.000Z" },
        usage: { input_tokens: 1, cost: 0.5 },
      });
      const second = await log.append(cursor, { events: [], records: [], run: full });
      await log.append(second, nextEvents(second, 2));

      const entry = { ...full, runId: "run", head: 3 };
      expect(await log.run(runId("run"))).toEqual(entry);
      expect((await log.claim(runId("run"))).run).toEqual(entry);
      expect((await log.list({ limit: 10 })).runs).toEqual([entry]);
    });

    test("after a new claim a row is replaced completely too", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const lastTurn = { request_id: "req", operation: "pay", started_at: "2026-01-01T00:00:00.000Z" };
      const full = row({ lastTurn, usage: { input_tokens: 1 }, metadata: { a: 1 }, initialInput: "first" });
      await log.append(cursor, { events: [], records: [], run: full });

      const { cursor: next } = await log.claim(runId("run"));
      await log.append(next, { events: [], records: [], run: row() });
      expect(await log.run(runId("run"))).toEqual({ ...row(), runId: "run", head: 1 });
    });

    test("a row and a request are found during continuous appends to their run", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 1);
      const requests = [{ requestId: requestId("request"), phase: "running", createdAt: 1 } as const];
      cursor = await log.append(cursor, { events: [], records: [], requests });
      const lookingUp = Promise.all([log.run(runId("run")), log.lookup(requestId("request"))]);
      let found = false;
      const looking = lookingUp.then(() => {
        found = true;
      });
      while (!found) cursor = await log.append(cursor, nextEvents(cursor, 1));

      await looking;
      const [entry, request] = await lookingUp;
      expect(entry?.head).toBeLessThanOrEqual(cursor.head);
      expect(request).toMatchObject({ phase: "running" });
    });

    test("a row has the alias of its run", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      await startRun(log, "other", 1);
      await log.append(cursor, { events: [], records: [], alias: alias("name") });
      expect(await log.run(runId("run"))).toMatchObject({ alias: "name" });
      expect((await log.claim(runId("run"))).run).toMatchObject({ alias: "name" });
      expect(await log.run(runId("other"))).not.toHaveProperty("alias");
      const { runs } = await log.list({ limit: 10 });
      expect(new Map(runs.map((entry) => [entry.runId, entry.alias]))).toEqual(
        new Map([
          ["run", "name"],
          ["other", undefined],
        ]),
      );
    });

    test("the list starts with the most recently updated run", async () => {
      const log = await openFor(subject);
      await startRuns(log, [20, 40, 10, 30]);
      const cursor = (await log.claim(runId("run-2"))).cursor;
      await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ updatedAt: 50 }) });

      const { runs, next } = await log.list({ limit: 10 });
      expect(runs.map((entry) => entry.updatedAt)).toEqual([50, 40, 30, 20]);
      expect(runs[0]).toMatchObject({ runId: "run-2", head: 2 });
      expect(next).toBeUndefined();
    });

    test("the pages of the list contain every run once, also when times are equal", async () => {
      const log = await openFor(subject);
      await startRuns(log, [5, 5, 5, 9, 5, 1, 5, 9, 5]);

      for (const limit of [1, 2, 3, 4, 8, 9, 10]) {
        const found = await listAll(log, { limit });
        expect(found.map((entry) => entry.updatedAt)).toEqual([9, 9, 5, 5, 5, 5, 5, 5, 1]);
        expect(new Set(found.map((entry) => entry.runId)).size).toBe(9);
      }
    });

    test("the list is filtered by agent and by status", async () => {
      const log = await openFor(subject);
      const agents = ["echo", "order"];
      const statuses = ["idle", "running", "waiting"] as const;
      for (const agent of agents) {
        for (const [index, status] of statuses.entries()) {
          const { cursor } = await log.claim(runId(`${agent}-${status}`));
          const run = row({ agent, status, updatedAt: index });
          await log.append(cursor, { events: [], records: [], run });
        }
      }

      const ids = async (query: Partial<RunQuery>) =>
        (await listAll(log, { limit: 2, ...query })).map((entry) => entry.runId);
      expect(await ids({ agent: "order" })).toEqual(["order-waiting", "order-running", "order-idle"]);
      expect(await ids({ status: "idle" })).toHaveLength(2);
      expect(await ids({ agent: "echo", status: "running" })).toEqual(["echo-running"]);
      expect(await ids({ agent: "team" })).toEqual([]);
    });

    test("the list can start with the least recently updated run", async () => {
      const log = await openFor(subject);
      await startRuns(log, [20, 40, 10, 30, 10]);
      for (const limit of [1, 2, 5]) {
        const found = await listAll(log, { limit, oldestFirst: true });
        expect(found.map((entry) => entry.updatedAt)).toEqual([10, 10, 20, 30, 40]);
        expect(new Set(found.map((entry) => entry.runId)).size).toBe(5);
      }
    });

    test("the list can be in the order of creation, with an offset and a total", async () => {
      const log = await openFor(subject);
      // Claimed first, appended to last.
      const late = await log.claim(runId("late"));
      await startRuns(log, [20, 40, 10, 30]);
      await log.append(late.cursor, { ...nextEvents(late.cursor, 1), run: row({ status: "waiting" }) });
      const changed = (await log.claim(runId("run-1"))).cursor;
      await log.append(changed, { ...nextEvents(changed, 1), run: row({ updatedAt: 50 }) });
      for (const [id, agent] of [
        ["hidden", ""],
        ["other", "order"],
      ] as const) {
        const { cursor } = await log.claim(runId(id));
        await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ agent }) });
      }

      const list = async (query: Partial<RunQuery>) => {
        const { runs, ...page } = await log.list({ byCreation: true, limit: 10, ...query });
        return [runs.map((entry) => entry.runId), page];
      };
      const all = ["run-0", "run-1", "run-2", "run-3", "late"];
      expect(await list({ agent: "echo", total: true })).toEqual([all, { total: 5 }]);
      expect(await list({ agent: "echo" })).toEqual([all, {}]);
      expect(await list({ total: true })).toEqual([[...all, "other"], { total: 6 }]);
      expect(await list({ agent: "echo", limit: 2, offset: 1, total: true })).toEqual([
        ["run-1", "run-2"],
        { total: 5 },
      ]);
      expect(await list({ agent: "echo", limit: 2, offset: 4 })).toEqual([["late"], {}]);
      expect(await list({ agent: "echo", offset: 5, total: true })).toEqual([[], { total: 5 }]);
      expect(await list({ agent: "team", total: true })).toEqual([[], { total: 0 }]);
      expect(await list({ status: "waiting", total: true })).toEqual([["late"], { total: 1 }]);
      await expect(list({ cursor: "1.run-1" })).rejects.toMatchObject({ code: "invalid_request" });

      await log.remove((await log.claim(runId("run-0"))).cursor);
      expect(await list({ agent: "echo", limit: 1, total: true })).toEqual([["run-1"], { total: 4 }]);
    });

    test("a list with an offset has a total and a next page", async () => {
      const log = await openFor(subject);
      await startRuns(log, [20, 40, 10, 30]);
      const { runs, next, total } = await log.list({ limit: 2, offset: 1, total: true });
      expect(runs.map((entry) => entry.updatedAt)).toEqual([30, 20]);
      expect(total).toBe(4);
      const rest = await log.list({ limit: 2, total: true, ...(next !== undefined && { cursor: next }) });
      expect(rest.runs.map((entry) => entry.updatedAt)).toEqual([10]);
      expect(rest.total).toBe(4);
    });

    test("a run that changes its agent is listed with the new one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const next = await log.append(cursor, { events: [], records: [], run: row({ agent: "order" }) });
      expect((await log.list({ agent: "echo", limit: 1, byCreation: true })).runs).toEqual([]);
      expect((await log.list({ agent: "order", limit: 1, byCreation: true })).runs).toHaveLength(1);
      await log.append(next, { events: [], records: [], run: row({ createdAt: 7 }) });
      expect(await log.run(runId("run"))).toMatchObject({ agent: "echo", createdAt: 7 });
    });

    test("the size of the log grows with its runs, and a removed run no longer counts", async () => {
      const log = await openFor(subject);
      const before = await log.size();
      const text = JSON.stringify({ text: "x".repeat(100_000) });
      const { cursor } = await log.claim(runId("large"));
      const large = await log.append(cursor, {
        events: Array.from({ length: 10 }, () => text),
        records: [{ n: 1, after: 10, type: "Now" }],
        run: row(),
      });
      await startRun(log, "small", 1);

      expect(await log.size(runId("large"))).toBeGreaterThan(1_000_000);
      expect(await log.size(runId("small"))).toBeLessThan(1_000);
      expect(await log.size(runId("none"))).toBe(0);
      expect(await log.size()).toBeGreaterThan(before + 900_000);
      await log.remove(large);
      expect(await log.size(runId("large"))).toBe(0);
      // This must also hold while the removed run's chunks are being deleted.
      for (let look = 0; look < 50; look += 1) expect(await log.size()).toBeLessThan(before + 500_000);
    });

    test("a cursor that the list did not return is refused", async () => {
      const log = await openFor(subject);
      const list = log.list({ limit: 1, cursor: "?" });
      await expect(list).rejects.toMatchObject({ code: "invalid_request" });
    });

    test("a removed run is gone with all its content", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 2);
      const full = await log.append(cursor, {
        ...nextEvents(cursor, 1),
        records: [{ n: 1, after: 2, type: "Now" }],
        requests: [{ requestId: requestId("request"), phase: "queued", createdAt: 1 }],
        alias: alias("name"),
        snapshot: {},
      });
      await log.remove(full);

      const page = await log.read(runId("run"), { after: 0, records: true });
      expect(page).toEqual({ events: [], records: [], head: 0 });
      expect(await log.run(runId("run"))).toMatchObject({ runId: "run", removed: true, head: 0 });
      expect(await log.lookup(requestId("request"))).toEqual({
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

    test("the id of a removed run is not used again; its alias can be", async () => {
      const log = await openFor(subject);
      const first = await startRun(log, "run", 1);
      await log.remove(await log.append(first, { events: [], records: [], alias: alias("name") }));

      const { cursor, run, snapshot } = await log.claim(runId("run"));
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
      const { cursor } = await log.claim(runId("second"));
      expect(await log.remove(cursor)).toEqual(["shared"]);
      expect(await log.unreferenced(["shared"])).toEqual(["shared"]);
    });

    test("the request ids of a removed run are not used again", async () => {
      const log = await openFor(subject);
      const requests = [
        { requestId: requestId("request"), phase: "completed", createdAt: 1, completed: 2 } as const,
      ];
      const cursor = await startRun(log, "run", 2);
      await log.remove(await log.append(cursor, { events: [], records: [], requests }));
      const other = await startRun(log, "other", 1);

      const refused = log.append(other, { ...nextEvents(other, 1), requests });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await log.lookup(requestId("request"))).toMatchObject({ runId: "run", removed: true });
    });

    test("only the owner can remove a run, and no other run is removed", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "run", 1);
      await startRun(log, "other", 2);
      const { cursor } = await log.claim(runId("run"));

      await expect(log.remove(old)).rejects.toBeInstanceOf(Fenced);
      expect(await log.read(runId("run"), { after: 0 })).toMatchObject({ head: 1 });
      await log.remove(cursor);
      expect(await log.read(runId("run"), { after: 0 })).toMatchObject({ head: 0 });
      expect(await log.read(runId("other"), { after: 0 })).toMatchObject({ head: 2 });
    });
  });
}

/** Starts one run per time, updated at that time. */
async function startRuns(log: EventLog, times: readonly number[]): Promise<void> {
  for (const [index, updatedAt] of times.entries()) {
    const { cursor } = await log.claim(runId(`run-${index}`));
    await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ updatedAt }) });
  }
}

async function listAll(log: EventLog, query: RunQuery) {
  const first = await log.list(query);
  const found = [...first.runs];
  let { next } = first;
  while (next !== undefined) {
    const page = await log.list({ ...query, cursor: next });
    expect(page.runs.length).toBeGreaterThan(0);
    expect(page.runs.length).toBeLessThanOrEqual(query.limit);
    found.push(...page.runs);
    // Without this, an engine whose list has a cycle would cause an endless loop.
    expect(found.length).toBeLessThan(100);
    next = page.next;
  }
  return found;
}
