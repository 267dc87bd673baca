import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../../ports/event-log.ts";
import type { RunEntryQuery } from "../../../../ports/log-queries.ts";
import type { LastTurn } from "../../../../protocol/answers/status.ts";
import { asRequestId, asRunId, nextEvents, openFor, row, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The list of runs. */
export function testRunList(subject: EventLogSubject): void {
  describe("the list of runs", () => {
    test("the list starts with the most recently updated run", async () => {
      const log = await openFor(subject);
      await startRuns(log, [20, 40, 10, 30]);
      const cursor = (await log.claim(asRunId("run-2"))).cursor;
      await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ updatedAt: 50, createdAt: 1_001 }) });

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
          const { cursor } = await log.claim(asRunId(`${agent}-${status}`));
          const run = row({ agent, status, updatedAt: index });
          await log.append(cursor, { events: [], records: [], run });
        }
      }

      const ids = async (query: Partial<RunEntryQuery>) =>
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
      const late = await log.claim(asRunId("late"));
      await startRuns(log, [20, 40, 10, 30]);
      await log.append(late.cursor, {
        ...nextEvents(late.cursor, 1),
        run: row({ status: "waiting", createdAt: 1_100 }),
      });
      const changed = (await log.claim(asRunId("run-1"))).cursor;
      await log.append(changed, { ...nextEvents(changed, 1), run: row({ updatedAt: 50, createdAt: 1_001 }) });
      for (const [id, agent] of [
        ["hidden", ""],
        ["other", "order"],
      ] as const) {
        const { cursor } = await log.claim(asRunId(id));
        await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ agent, createdAt: 1_200 }) });
      }

      const list = async (query: Partial<RunEntryQuery>) => {
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

      await log.remove((await log.claim(asRunId("run-0"))).cursor);
      expect(await list({ agent: "echo", limit: 1, total: true })).toEqual([["run-1"], { total: 4 }]);
    });

    test("the runs whose newest turn has failed are listed and counted", async () => {
      const log = await openFor(subject);
      const end = async (runId: string, updatedAt: number, lastTurn: Partial<LastTurn>): Promise<void> => {
        const { cursor } = await log.claim(asRunId(runId));
        const turn = { request_id: asRequestId("first"), operation: "chat", started_at: "", ...lastTurn };
        const fields = {
          createdAt: Number(runId.at(-1)),
          updatedAt,
          lastTurn: turn,
          ...(runId === "run-2" && { owner: "acme" }),
          ...(runId === "run-3" && { agent: "other" }),
        };
        log.release(await log.append(cursor, { ...nextEvents(cursor, 1), run: row(fields) }));
      };
      await end("run-0", 20, { finish_reason: "error", error_message: "it broke" });
      await end("run-1", 40, {
        finish_reason: "success",
        result: '{"finish_reason":"error"}',
      });
      await end("run-2", 10, { finish_reason: "error" });
      await end("run-3", 30, { finish_reason: "error", error_message: '"finish_reason":"success"' });
      const list = async (query: Partial<RunEntryQuery> = {}): Promise<readonly string[]> =>
        (await log.list({ limit: 9, failed: true, ...query })).runs.map(({ runId }) => runId);
      expect(await list()).toEqual(["run-3", "run-0", "run-2"]);
      expect(await list({ oldestFirst: true })).toEqual(["run-2", "run-0", "run-3"]);
      expect(await list({ agent: "other" })).toEqual(["run-3"]);
      expect(await list({ owner: "acme" })).toEqual(["run-2"]);
      expect(await list({ owner: "acme", agent: "other" })).toEqual([]);
      expect(await list({ owner: "default", agent: "echo" })).toEqual(["run-0"]);
      expect(await list({ status: "held" })).toEqual([]);
      expect(await list({ byCreation: true })).toEqual(["run-0", "run-2", "run-3"]);
      const page = await log.list({ failed: true, limit: 1, total: 9 });
      expect(page.total).toBe(3);
      expect(await list(page.next === undefined ? {} : { cursor: page.next })).toEqual(["run-0", "run-2"]);
      await end("run-3", 30, { finish_reason: "success" });
      expect(await list()).toEqual(["run-0", "run-2"]);
    });

    test("a list by metadata leaves out no run with the values", async () => {
      const log = await openFor(subject);
      const kept = [
        { lot: "1", shelf: "left" },
        { lot: 1 },
        { lot: "2", shelf: "1" },
        { lot: 'a "1"\n', shelf: "left" },
        { lot: { of: ["1"] } },
        { 'lot"': true },
        {},
      ];
      for (const [index, metadata] of kept.entries()) {
        const { cursor } = await log.claim(asRunId(`run-${index}`));
        await log.append(cursor, { events: [], records: [], run: row({ metadata, updatedAt: index }) });
      }
      const found = async (
        metadata: Readonly<Record<string, string>>,
        wanted: readonly number[],
        query: Partial<RunEntryQuery> = {},
      ): Promise<void> => {
        for (const limit of [1, 2, 9]) {
          const runs = await listAll(log, { limit, metadata, ...query });
          const places = runs.map(({ runId }) => Number(runId.at(-1)));
          // An engine may have more.
          expect(places.filter((place) => wanted.includes(place))).toEqual(wanted);
        }
      };
      await found({ lot: "1" }, [1, 0]);
      await found({ lot: "1" }, [0, 1], { oldestFirst: true });
      await found({ lot: "1", shelf: "left" }, [0]);
      await found({ shelf: "left" }, [3, 0], { owner: "default", agent: "echo", status: "idle" });
      await found({ lot: 'a "1"\n' }, [3]);
      await found({ lot: '{"of":["1"]}' }, [4]);
      await found({ 'lot"': "true" }, [5]);
      await found({}, [6, 5, 4, 3, 2, 1, 0]);
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

    test("runs are counted up to a number", async () => {
      const log = await openFor(subject);
      await startRuns(log, [20, 40, 10, 30]);
      const count = async (query: Partial<RunEntryQuery>): Promise<number | undefined> =>
        (await log.list({ limit: 1, ...query })).total;
      expect(await count({ total: 3 })).toBe(3);
      expect(await count({ total: 4 })).toBe(4);
      expect(await count({ total: 5 })).toBe(4);
      expect(await count({ total: 3, offset: 2, oldestFirst: true })).toBe(3);
      expect(await count({ total: 3, byCreation: true })).toBe(3);
      expect(await count({ total: 3, status: "held" })).toBe(0);
      expect(await count({})).toBeUndefined();
    });

    test("a run that changes its agent is listed with the new one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const next = await log.append(cursor, { events: [], records: [], run: row({ agent: "order" }) });
      expect((await log.list({ agent: "echo", limit: 1, byCreation: true })).runs).toEqual([]);
      expect((await log.list({ agent: "order", limit: 1, byCreation: true })).runs).toHaveLength(1);
      await log.append(next, { events: [], records: [], run: row({ createdAt: 7 }) });
      expect(await log.run(asRunId("run"))).toMatchObject({ agent: "echo", createdAt: 7 });
    });

    test("a cursor that the list did not return is refused", async () => {
      const log = await openFor(subject);
      const list = log.list({ limit: 1, cursor: "?" });
      await expect(list).rejects.toMatchObject({ code: "invalid_request" });
    });
  });
}

/** Starts one run per time, updated at that time. */
async function startRuns(log: EventLog, times: readonly number[]): Promise<void> {
  for (const [index, updatedAt] of times.entries()) {
    const { cursor } = await log.claim(asRunId(`run-${index}`));
    await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ updatedAt, createdAt: 1_000 + index }) });
  }
}

async function listAll(log: EventLog, query: RunEntryQuery) {
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
