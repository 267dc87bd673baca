import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../ports/event-log.ts";
import type { RequestQuery, RunIdQuery } from "../../../ports/log-queries.ts";
import {
  accepted,
  nextEvents,
  openFor,
  asRequestId,
  row,
  asRunId,
  startRun,
  alias,
  besideId,
} from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** What a copy of a log reads besides rows and events. */
export function testInventory(subject: EventLogSubject): void {
  describe("inventory", () => {
    test("the ids of all runs are listed in the order of their first appends, also of those without an agent", async () => {
      const log = await openFor(subject);
      await log.claim(asRunId("only-claimed"));
      for (const id of ["m", "z", "a"]) await startRun(log, id, 1);
      const { cursor } = await log.claim(asRunId("hidden"));
      await log.append(cursor, { events: [], records: [], run: row({ agent: "" }) });
      const again = (await log.claim(asRunId("m"))).cursor;
      await log.append(again, { ...nextEvents(again, 1), run: row({ updatedAt: 9_000 }) });

      for (const limit of [1, 2, 4, 10])
        expect(inOrder(log, await allIds(log, { limit }))).toEqual(inOrder(log, ["m", "z", "a", "hidden"]));
      expect(await allIds(log, { limit: 2, removed: true })).toEqual([]);
    });

    test("removed runs are listed apart from the others", async () => {
      const log = await openFor(subject);
      const cursors = [];
      for (const id of ["d", "c", "b", "a"]) cursors.push(await startRun(log, id, 1));
      const [first, , third] = cursors;
      for (const cursor of [first, third]) if (cursor !== undefined) await log.remove(cursor);

      for (const limit of [1, 2, 3]) {
        expect(inOrder(log, await allIds(log, { limit }))).toEqual(inOrder(log, ["c", "a"]));
        expect((await allIds(log, { limit, removed: true })).toSorted()).toEqual(["b", "d"]);
      }
    });

    test("the requests of a run are listed in pages, in both orders", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const names = ["c", "a", "d", "b", "e"];
      const requests = names.map((name, n) => accepted(name, { createdAt: 7, accepted: { n, after: 1 } }));
      await log.append(cursor, { events: [], records: [], requests });
      const other = await startRun(log, "other", 1);
      await log.append(other, {
        events: [],
        records: [],
        requests: [accepted("other", { accepted: { n: 2, after: 1 } })],
      });

      for (const limit of [1, 2, 5, 9]) {
        expect(await allRequests(log, { runId: asRunId("run"), limit, oldestFirst: true })).toEqual(names);
        expect(await allRequests(log, { runId: asRunId("run"), limit })).toEqual(names.toReversed());
      }
    });

    test("the request ids of a removed run are listed on demand", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const names = ["c", "a", "b"];
      const requests = names.map((name, n) => accepted(name, { createdAt: 7, accepted: { n, after: 1 } }));
      await log.remove(await log.append(cursor, { events: [], records: [], requests }));

      const query = { runId: asRunId("run"), removed: true } as const;
      expect(await log.requests({ runId: asRunId("run"), limit: 9 })).toEqual([]);
      for (const limit of [1, 2, 9])
        expect((await allRequests(log, { ...query, limit })).toSorted()).toEqual(["a", "b", "c"]);
      expect(await log.requests({ ...query, limit: 1 })).toMatchObject([{ runId: "run", removed: true }]);
    });

    test("a run holds its aliases and references, until they move, are dropped, or the run is removed", async () => {
      const log = await openFor(subject);
      const nothing = { aliases: [], references: [] };
      expect(await log.holdings(asRunId("run"))).toEqual(nothing);
      let cursor = await startRun(log, "run", 1);
      expect(await log.holdings(asRunId("run"))).toEqual(nothing);
      for (const name of ["z", "a b", "m"])
        cursor = await log.append(cursor, { events: [], records: [], alias: alias(name) });
      const agent = "another";
      cursor = await log.append(cursor, { events: [], records: [], alias: { agent, name: "x" } });
      const references = [{ thing: "z" }, { thing: "dropped" }, { thing: "a" }];
      cursor = await log.append(cursor, { events: [], records: [], references });
      const otherId = besideId(log, "run", "other");
      const other = await startRun(log, otherId, 1);
      await log.append(other, {
        ...nextEvents(other, 1),
        alias: { ...alias("m"), from: asRunId("run") },
        references: [{ thing: "a" }],
      });
      const dropped = [{ thing: "dropped", dropped: true }];
      cursor = await log.append(cursor, { events: [], records: [], references: dropped });

      expect(await log.holdings(asRunId("run"))).toEqual({
        aliases: [{ agent, name: "x" }, alias("a b"), alias("z")],
        references: ["a", "z"],
      });
      expect(await log.holdings(otherId)).toEqual({ aliases: [alias("m")], references: ["a"] });
      await log.remove(cursor);
      expect(await log.holdings(asRunId("run"))).toEqual(nothing);
    });
  });
}

/** A log in several databases has no order of the runs of two of them. */
function inOrder(log: EventLog, ids: readonly string[]): readonly string[] {
  return log.isBeside === undefined ? ids : ids.toSorted();
}

async function allIds(log: EventLog, query: RunIdQuery): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const after = found.at(-1);
    const page = await log.runIds({ ...query, ...(after !== undefined && { after: asRunId(after) }) });
    expect(page.length).toBeLessThanOrEqual(query.limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

async function allRequests(log: EventLog, query: RequestQuery): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const after = found.at(-1);
    const page = await log.requests({ ...query, ...(after !== undefined && { after: asRequestId(after) }) });
    expect(page.length).toBeLessThanOrEqual(query.limit);
    if (page.length === 0) return found;
    found.push(...page.map((entry) => entry.requestId));
  }
}
