import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../../ports/event-log.ts";
import { nextEvents, openFor, asRequestId, row, asRunId, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The rows of runs, and the size of the log. */
export function testRuns(subject: EventLogSubject): void {
  describe("rows of runs", () => {
    test("an unknown run has no row", async () => {
      const log = await openFor(subject);
      expect(await log.run(asRunId("none"))).toBeUndefined();
      expect((await log.claim(asRunId("none"))).run).toBeUndefined();
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

      const entry = { ...full, ...ownedBy(log), runId: "run", head: 3 };
      expect(await log.run(asRunId("run"))).toEqual(entry);
      expect((await log.claim(asRunId("run"))).run).toEqual(entry);
      expect((await log.list({ limit: 10 })).runs).toEqual([entry]);
    });

    test("after a new claim a row is replaced completely too", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const lastTurn = { request_id: "req", operation: "pay", started_at: "2026-01-01T00:00:00.000Z" };
      const full = row({ lastTurn, usage: { input_tokens: 1 }, metadata: { a: 1 }, initialInput: "first" });
      await log.append(cursor, { events: [], records: [], run: full });

      const { cursor: next } = await log.claim(asRunId("run"));
      await log.append(next, { events: [], records: [], run: row() });
      expect(await log.run(asRunId("run"))).toEqual({ ...row(), ...ownedBy(log), runId: "run", head: 1 });
    });

    test("a row and a request are found during continuous appends to their run", async () => {
      const log = await openFor(subject);
      let cursor = await startRun(log, "run", 1);
      const requests = [{ requestId: asRequestId("request"), phase: "running", createdAt: 1 } as const];
      cursor = await log.append(cursor, { events: [], records: [], requests });
      const lookingUp = Promise.all([log.run(asRunId("run")), log.lookup(asRequestId("request"))]);
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

    test("the row of a run names the request that has started, until a row without one", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const started = asRequestId("first");
      const next = await log.append(cursor, { events: [], records: [], run: row({ started }) });
      expect((await log.run(asRunId("run")))?.started).toBe(started);
      await log.append(next, { events: [], records: [], run: row() });
      expect(await log.run(asRunId("run"))).not.toHaveProperty("started");
    });

    test("the size of the log grows with its runs, and a removed run no longer counts", async () => {
      const log = await openFor(subject);
      const before = await log.size();
      const text = JSON.stringify({ text: "x".repeat(100_000) });
      const { cursor } = await log.claim(asRunId("large"));
      const large = await log.append(cursor, {
        events: Array.from({ length: 10 }, () => text),
        records: [{ n: 1, after: 10, type: "Now" }],
        run: row(),
      });
      await startRun(log, "small", 1);

      expect(await log.size(asRunId("large"))).toBeGreaterThan(1_000_000);
      expect(await log.size(asRunId("small"))).toBeLessThan(1_000);
      expect(await log.size(asRunId("none"))).toBe(0);
      expect(await log.size()).toBeGreaterThan(before + 900_000);
      await log.remove(large);
      expect(await log.size(asRunId("large"))).toBe(0);
      // This must also hold while the removed run's chunks are being deleted.
      for (let look = 0; look < 50; look += 1) expect(await log.size()).toBeLessThan(before + 500_000);
    });
  });
}

/** The field of a row that names the node that owns it, if nodes can share the log. */
function ownedBy({ node }: EventLog): { readonly node?: string } {
  return node === undefined ? {} : { node };
}
