import { describe, expect, test } from "vitest";
import type { AuditEntry, AuditQuery, NewAuditEntry } from "../../../ports/audit.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { asRequestId, asRunId, besideId, openFor, reopenFor, row } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

const ANN = { id: "ann", name: "Ann" };
const BOB = { id: "bob" };

/** What concerns no run. */
const OTHERS: readonly NewAuditEntry[] = [
  { at: 30, action: "sign_in", by: ANN, owner: "acme" },
  { at: 20, action: "refuse", by: BOB, owner: "default", detail: "bob may not erase", count: 3 },
];

/** A run of acme with two entries, one of `default` with one, and two entries of no run. Returns the id of the second run. */
async function fill(log: EventLog): Promise<RunId> {
  const one = (await log.claim(asRunId("one"))).cursor;
  const asked = { at: 10, action: "process", by: ANN, requestId: asRequestId("r"), detail: "pay" } as const;
  const next = await log.append(one, {
    events: [],
    records: [],
    run: row({ owner: "acme", agent: "payments" }),
    audit: [asked],
  });
  await log.append(next, {
    events: [],
    records: [],
    audit: [{ at: 40, action: "answer", by: BOB, requestId: asRequestId("r"), event: 7 }],
  });
  // Entries of one time have an order if their runs are in one database.
  const twoId = besideId(log, "one", "two");
  const two = (await log.claim(twoId)).cursor;
  await log.append(two, {
    events: [],
    records: [],
    run: row(),
    audit: [{ at: 40, action: "process", by: BOB }],
  });
  await log.audit.add(OTHERS);
  await log.audit.add([]);
  return twoId;
}

/** All entries of a query in pages, as short texts. */
async function list(
  log: EventLog,
  query: Omit<AuditQuery, "limit"> = {},
  limit = 2,
): Promise<readonly string[]> {
  const found: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.audit.list({ ...query, limit, ...(cursor !== undefined && { cursor }) });
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    found.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return found.map(({ at, by, action }) => `${at} ${by.id} ${action}`);
}

export function testAudit(subject: EventLogSubject): void {
  describe("the audit trail", () => {
    test("lists what was done by owner, principal, action, run and time, in pages, the newest first", async () => {
      const log = await openFor(subject);
      expect(await log.audit.list({ limit: 10 })).toEqual({ entries: [] });
      await fill(log);
      const all = ["40 bob process", "40 bob answer", "30 ann sign_in", "20 bob refuse", "10 ann process"];
      for (const limit of [1, 2, 3, 10]) expect(await list(log, {}, limit)).toEqual(all);
      expect(await list(log, { oldestFirst: true })).toEqual(all.toReversed());
      expect(await list(log, { owner: "acme" })).toEqual([all[1], all[2], all[4]]);
      expect(await list(log, { owner: "default" })).toEqual([all[0], all[3]]);
      expect(await list(log, { owner: "nobody" })).toEqual([]);
      expect(await list(log, { by: "ann" })).toEqual([all[2], all[4]]);
      expect(await list(log, { action: "process" })).toEqual([all[0], all[4]]);
      expect(await list(log, { action: "refuse", by: "bob", owner: "default" })).toEqual([all[3]]);
      expect(await list(log, { runId: asRunId("one") })).toEqual([all[1], all[4]]);
      expect(await list(log, { runId: asRunId("none") })).toEqual([]);
      expect(await list(log, { from: 20, before: 40 })).toEqual([all[2], all[3]]);
      await expect(log.audit.list({ limit: 1, cursor: "x" })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });

    test("has each entry as it was given, with the agent of its run", async () => {
      const log = await openFor(subject);
      await fill(log);
      const { entries } = await log.audit.list({ limit: 10 });
      expect(entries.find(({ at }) => at === 10)).toEqual({
        at: 10,
        action: "process",
        by: ANN,
        owner: "acme",
        runId: "one",
        agent: "payments",
        requestId: "r",
        detail: "pay",
      });
      expect(entries.find(({ action }) => action === "answer")).toMatchObject({ event: 7, requestId: "r" });
      expect(entries.find(({ action }) => action === "sign_in")).toEqual(OTHERS[0]);
      expect(entries.find(({ action }) => action === "refuse")).toEqual(OTHERS[1]);
    });

    test("keeps the entries of a removed run, without its agent, unless the removal erases them", async () => {
      const log = await openFor(subject);
      const twoId = await fill(log);
      await log.remove((await log.claim(asRunId("one"))).cursor);
      expect(await list(log, { runId: asRunId("one") })).toEqual(["40 bob answer", "10 ann process"]);
      expect((await log.audit.list({ runId: asRunId("one"), limit: 1 })).entries[0]).not.toHaveProperty(
        "agent",
      );
      await log.remove((await log.claim(twoId)).cursor, { erases: true });
      expect(await list(log, { runId: twoId })).toEqual([]);
      expect(await list(log)).toHaveLength(4);
    });

    test("removes the entries of an owner, those before a time, and all but the newest of an action", async () => {
      const log = await openFor(subject);
      await fill(log);
      await log.audit.add([1, 2, 3].map((at) => ({ at, action: "refuse", by: ANN, owner: "acme" }) as const));
      await log.audit.remove({ action: "refuse", allButNewest: 2 });
      expect(await list(log, { action: "refuse" })).toEqual(["20 bob refuse", "3 ann refuse"]);
      await log.audit.remove({ before: 20 });
      expect(await list(log)).toEqual(["40 bob process", "40 bob answer", "30 ann sign_in", "20 bob refuse"]);
      await log.audit.remove({ owner: "acme" });
      expect(await list(log)).toEqual(["40 bob process", "20 bob refuse"]);
      await log.audit.remove({ owner: "default" });
      expect(await list(log)).toEqual([]);
    });

    test.skipIf(subject.reopen === undefined)("is there after a restart", async () => {
      const log = await openFor(subject);
      await fill(log);
      const before = await list(log);
      const again = await reopenFor(subject.reopen as NonNullable<typeof subject.reopen>, log);
      expect(await list(again)).toEqual(before);
    });
  });
}
