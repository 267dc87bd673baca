import { describe, expect, test } from "vitest";
import type { SpentMark } from "../../../../ports/spending.ts";
import type { EventLog } from "../../../../ports/event-log.ts";
import type { RunRow } from "../../../../ports/log-batch.ts";
import type { RunEntryQuery } from "../../../../ports/log-queries.ts";
import { accepted, asRequestId, asRunId, openFor, reopenFor, row, besideId } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** What belongs to whom. */
export function testRunOwners(subject: EventLogSubject): void {
  const { reopen } = subject;

  describe("owners", () => {
    test("a run without an owner belongs to default, and its row says nothing of it", async () => {
      const log = await openFor(subject);
      await begin(log, "run", {});
      expect(await log.run(asRunId("run"))).not.toHaveProperty("owner");
      expect(await log.run(asRunId("run"), "default")).toMatchObject({ runId: "run" });
      expect(await log.run(asRunId("run"), "acme")).toBeUndefined();
      expect(await log.lookup(asRequestId("req-run"))).not.toHaveProperty("owner");
    });

    test("a run belongs to its owner, also after its row has changed and it was claimed again", async () => {
      const log = await openFor(subject);
      await begin(log, "run", { owner: "acme" });
      const { cursor, run } = await log.claim(asRunId("run"));
      expect(run).toMatchObject({ owner: "acme" });
      await log.append(cursor, { events: [], records: [], run: row({ owner: "acme", updatedAt: 2_000 }) });
      expect(await log.run(asRunId("run"), "acme")).toMatchObject({ owner: "acme", updatedAt: 2_000 });
      expect(await log.run(asRunId("run"), "default")).toBeUndefined();
    });

    test("lists have the runs of one owner, in each order, with each filter, on each page", async () => {
      const log = await openFor(subject);
      for (const [index, owner] of ["acme", undefined, "bolt", "acme", "bolt", undefined, "acme"].entries()) {
        const agent = index < 3 ? "echo" : "other";
        await begin(log, `run-${index}`, {
          ...(owner && { owner }),
          agent,
          createdAt: 1_000 + index,
          updatedAt: 1_000 + index,
        });
      }
      const list = async (query: Partial<RunEntryQuery>): Promise<readonly string[]> =>
        (await log.list({ limit: 10, ...query })).runs.map(({ runId }) => runId);

      expect(await list({ owner: "acme" })).toEqual(["run-6", "run-3", "run-0"]);
      expect(await list({ owner: "default" })).toEqual(["run-5", "run-1"]);
      expect(await list({ owner: "none" })).toEqual([]);
      expect(await list({ owner: "acme", oldestFirst: true })).toEqual(["run-0", "run-3", "run-6"]);
      expect(await list({ owner: "acme", byCreation: true, offset: 1 })).toEqual(["run-3", "run-6"]);
      expect(await list({ owner: "bolt", agent: "other" })).toEqual(["run-4"]);
      expect(await list({ owner: "bolt", status: "waiting" })).toEqual(["run-4", "run-2"]);
      expect(await list({ owner: "bolt", status: "idle" })).toEqual([]);
      expect(await list({})).toHaveLength(7);
      const first = await log.list({ owner: "acme", limit: 2, total: true });
      expect(first.total).toBe(3);
      expect(await list({ owner: "acme", cursor: first.next ?? "" })).toEqual(["run-0"]);
    });

    test("open waits are listed for one owner", async () => {
      const log = await openFor(subject);
      for (const [id, owner] of OWNERS) await begin(log, id, owner === undefined ? {} : { owner });
      const list = async (owner?: string): Promise<readonly string[]> =>
        (await log.waits({ limit: 10, ...(owner && { owner }) })).waits.map(({ runId }) => runId);
      expect(await list("acme")).toEqual(["a"]);
      expect(await list("a/b'%_")).toEqual(["c"]);
      expect(await list("default")).toEqual(["d"]);
      expect(await list("none")).toEqual([]);
      expect(await list()).toEqual(["a", "c", "d"]);
      const { waits } = await log.waits({ limit: 10, runId: asRunId("a"), requestId: asRequestId("req-a") });
      expect(waits).toEqual([{ runId: "a", waitId: 1, requestId: "req-a", openedAt: 5 }]);
    });

    test("each owner has ids of requests of its own; without an owner, that of default is found, or the first", async () => {
      const log = await openFor(subject);
      for (const [id, owner] of OWNERS.slice(0, 2))
        await begin(log, id, owner === undefined ? {} : { owner }, "same");
      expect(await log.lookup(asRequestId("same"))).toMatchObject({
        requestId: "same",
        runId: "c",
        owner: "a/b'%_",
      });
      await begin(log, "d", {}, "same");
      expect(await log.lookup(asRequestId("same"))).toMatchObject({ runId: "d" });
      expect(await log.lookup(asRequestId("same"), "default")).toMatchObject({ runId: "d" });
      expect(await log.lookup(asRequestId("same"), "acme")).toMatchObject({ runId: "a", owner: "acme" });
      expect(await log.lookup(asRequestId("same"), "none")).toBeUndefined();
      expect(await log.run(asRunId("a"))).toMatchObject({ started: "same", openWaits: 1 });

      const { cursor } = await log.claim(asRunId("a"));
      await log.append(cursor, {
        events: [],
        records: [],
        requests: [accepted("same-2", { createdAt: 9, accepted: { n: 2, after: 1 } })],
      });
      const all = await log.requests({ runId: asRunId("a"), limit: 10, oldestFirst: true });
      expect(all.map(({ requestId }) => requestId)).toEqual(["same", "same-2"]);
      const behind = await log.requests({
        runId: asRunId("a"),
        limit: 10,
        oldestFirst: true,
        after: asRequestId("same"),
      });
      expect(behind.map(({ requestId }) => requestId)).toEqual(["same-2"]);
    });

    test.each([false, true])(
      "what an owner has spent on a day is added up, also after a restart: %s",
      async (again) => {
        if (again && reopen === undefined) return;
        const opened = await openFor(subject);
        const mark = { day: 20_000, tokens: 0, cost: 0, raisedTokens: 0, raisedCost: 0 };
        let { cursor } = await opened.claim(asRunId("a"));
        const nothing = { events: [], records: [] };
        cursor = await opened.append(cursor, {
          ...nothing,
          run: row({ owner: "acme" }),
          spent: [
            { ...mark, tokens: 70, cost: 0.5 },
            { ...mark, tokens: 5, raisedTokens: 100 },
          ],
        });
        cursor = await opened.append(cursor, {
          ...nothing,
          spent: [{ ...mark, tokens: 25, raisedCost: 2.25 }],
        });
        const other = (await opened.claim(asRunId("b"))).cursor;
        await opened.append(other, { ...nothing, run: row(), spent: [{ ...mark, tokens: 1 }] });
        const log = again && reopen ? await reopenFor(reopen, opened) : opened;
        const sum = { tokens: 100, cost: 0.5, raisedTokens: 100, raisedCost: 2.25 };
        expect(await log.spending.on({ owner: "acme", day: 20_000 })).toEqual(sum);
        expect(await log.spending.on({ owner: "default", day: 20_000 })).toEqual({
          ...sum,
          tokens: 1,
          cost: 0,
          raisedTokens: 0,
          raisedCost: 0,
        });
        expect(await log.spending.on({ owner: "acme", day: 20_001 })).toEqual({
          tokens: 0,
          cost: 0,
          raisedTokens: 0,
          raisedCost: 0,
        });
        const later = (await log.claim(besideId(log, "a", "c"))).cursor;
        await log.append(later, {
          ...nothing,
          run: row({ owner: "acme" }),
          spent: [{ ...mark, day: 20_400, tokens: 3 }],
        });
        expect((await log.spending.on({ owner: "acme", day: 20_000 })).tokens).toBe(0);
      },
    );

    test("what agents have spent is beside what their owners have, is listed, taken over, removed, and kept for 400 days", async () => {
      const log = await openFor(subject);
      const mark = { tokens: 0, cost: 0, raisedTokens: 0, raisedCost: 0 };
      const spend = async (id: string, owner: string, spent: readonly SpentMark[]): Promise<void> => {
        const { cursor } = await log.claim(asRunId(id));
        await log.append(cursor, { events: [], records: [], run: row({ owner }), spent });
        log.release(cursor);
      };
      const [early, day] = [19_000, 20_000];
      await spend("a", "acme", [{ ...mark, agent: "writer", day: early, tokens: 1 }]);
      await spend(besideId(log, "a", "b"), "acme", [
        { ...mark, day, tokens: 9, cost: 2.5 },
        { ...mark, agent: "writer", day, tokens: 9 },
        { ...mark, agent: "writer", day, raisedTokens: 50 },
      ]);
      await spend("c", "acmeter", [{ ...mark, day, tokens: 3 }]);
      const writer = { owner: "acme", agent: "writer", day, ...mark, tokens: 9, raisedTokens: 50 };
      const entries = [
        { owner: "acme", day, ...mark, tokens: 9, cost: 2.5 },
        writer,
        { owner: "acmeter", day, ...mark, tokens: 3 },
      ];
      const { owner: _owner, agent: _agent, day: _day, ...amounts } = writer;
      expect(await log.spending.on({ owner: "acme", agent: "writer", day })).toEqual(amounts);
      expect(await log.spending.list({ limit: 9 })).toEqual(entries);
      expect(await log.spending.list({ limit: 1 })).toEqual(entries.slice(0, 1));
      expect(await log.spending.list({ after: { owner: "acme", day }, limit: 9 })).toEqual(entries.slice(1));
      await log.spending.put([
        { ...writer, tokens: 10 },
        { ...writer, owner: "bolt" },
      ]);
      expect(await log.spending.on({ owner: "acme", agent: "writer", day })).toMatchObject({ tokens: 10 });
      await log.spending.remove("acme");
      const left = (await log.spending.list({ limit: 9 })).map(({ owner }) => owner);
      expect(left).toEqual(["acmeter", "bolt"]);
    });

    test("two runs of one owner cannot have the same request", async () => {
      const log = await openFor(subject);
      await begin(log, "a", { owner: "acme" }, "same");
      await expect(begin(log, "b", { owner: "acme" }, "same")).rejects.toMatchObject({ code: "conflict" });
    });

    test("each owner has aliases of its own", async () => {
      const log = await openFor(subject);
      for (const [id, owner] of OWNERS) {
        const owned = owner === undefined ? {} : { owner };
        const { cursor } = await log.claim(asRunId(id));
        await log.append(cursor, {
          events: [],
          records: [],
          run: row(owned),
          alias: { ...owned, agent: "echo", name: "key" },
        });
      }
      for (const [id, owner] of OWNERS) {
        const alias = { ...(owner && { owner }), agent: "echo", name: "key" };
        expect(await log.find(alias)).toBe(id);
        expect(await log.run(asRunId(id))).toMatchObject({ alias: "key" });
        expect((await log.holdings(asRunId(id))).aliases).toEqual([alias]);
      }
      expect(await log.find({ owner: "none", agent: "echo", name: "key" })).toBeUndefined();
    });

    test("a removed run and its requests still belong to their owner", async () => {
      const log = await openFor(subject);
      await begin(log, "run", { owner: "acme" }, "req");
      await log.remove((await log.claim(asRunId("run"))).cursor);
      expect(await log.run(asRunId("run"), "acme")).toMatchObject({ removed: true, owner: "acme" });
      expect(await log.run(asRunId("run"), "default")).toBeUndefined();
      expect(await log.lookup(asRequestId("req"), "acme")).toMatchObject({ removed: true, owner: "acme" });
      expect(await log.lookup(asRequestId("req"), "default")).toBeUndefined();
      expect((await log.list({ owner: "acme", limit: 10 })).runs).toEqual([]);
      expect((await log.waits({ owner: "acme", limit: 10 })).waits).toEqual([]);
    });

    test.runIf(reopen)("owners are stored", async () => {
      const first = await openFor(subject);
      for (const [id, owner] of OWNERS) await begin(first, id, owner === undefined ? {} : { owner }, "same");
      const log = await reopenFor(reopen as (log: EventLog) => Promise<EventLog>, first);
      for (const [id, owner] of OWNERS) {
        expect(await log.lookup(asRequestId("same"), owner ?? "default")).toMatchObject({ runId: id });
        expect((await log.list({ owner: owner ?? "default", limit: 10 })).runs).toHaveLength(1);
      }
    });
  });
}

const OWNERS = [
  ["a", "acme"],
  ["c", "a/b'%_"],
  ["d", undefined],
] as const;

/** A run with a request that waits for input. */
async function begin(
  log: EventLog,
  id: string,
  fields: Partial<RunRow>,
  requestId = `req-${id}`,
): Promise<void> {
  const { cursor } = await log.claim(asRunId(id));
  await log.append(cursor, {
    events: ['{"id":1,"type":"WaitForInput"}'],
    records: [],
    run: row({ status: "waiting", started: asRequestId(requestId), ...fields }),
    requests: [accepted(requestId, { phase: "waiting", createdAt: 5, started: 1 })],
    waits: [{ waitId: 1, requestId: asRequestId(requestId), openedAt: 5 }],
  });
}
