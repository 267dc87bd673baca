import { describe, expect, test } from "vitest";
import type { Cursor, EventLog } from "../../../../ports/event-log.ts";
import type { ListedRequestEntry } from "../../../../ports/log-entries.ts";
import type { RequestMark, RunRow } from "../../../../ports/log-batch.ts";
import type { RequestListQuery } from "../../../../ports/log-queries.ts";
import { accepted, asRequestId, asRunId, openFor, row } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The list of the requests of all runs. */
export function testRequestList(subject: EventLogSubject): void {
  describe("the list of requests", () => {
    test("it begins with the newest request of the run that was updated last", async () => {
      const log = await openFor(subject);
      await fill(log);
      const [first, ...others] = await listAll(log);
      expect(first).toEqual({ ...(await log.lookup(asRequestId("c2"))), agent: "other", updatedAt: 30 });
      expect(others.map(({ requestId }) => requestId)).toEqual(["c1", "b1", "a3", "a2", "a1"]);
      expect(others[1]).toMatchObject({ runId: "b", owner: "acme", phase: "queued" });
    });

    test("its pages have every request once, also when times are equal", async () => {
      const log = await openFor(subject);
      for (const id of ["one", "two", "three"])
        await begin(log, id, {}, [mark(`${id}-1`, 1), mark(`${id}-2`, 2)]);
      const all = ["one-2", "one-1", "three-2", "three-1", "two-2", "two-1"];
      for (const limit of [1, 2, 3, 4, 5, 6, 7]) expect(await ids(log, { limit })).toEqual(all);
      await expect(log.listRequests({ limit: 1, cursor: "1.one" })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });

    test("it is filtered by owner, agent, run, phase and the times of the run", async () => {
      const log = await openFor(subject);
      await fill(log);
      for (const limit of [1, 9]) {
        const list = (query: Partial<RequestListQuery>): Promise<readonly string[]> =>
          ids(log, { limit, ...query });
        expect(await list({ owner: "acme" })).toEqual(["b1"]);
        expect(await list({ owner: "default" })).toEqual(["c2", "c1", "a3", "a2", "a1"]);
        expect(await list({ owner: "nobody" })).toEqual([]);
        expect(await list({ agent: "echo" })).toEqual(["b1", "a3", "a2", "a1"]);
        expect(await list({ agent: "echo", owner: "acme", phase: "queued" })).toEqual(["b1"]);
        expect(await list({ runId: asRunId("a") })).toEqual(["a3", "a2", "a1"]);
        expect(await list({ runId: asRunId("a"), owner: "acme" })).toEqual([]);
        expect(await list({ runId: asRunId("a"), phase: "waiting" })).toEqual(["a2"]);
        expect(await list({ phase: "waiting" })).toEqual(["a2"]);
        expect(await list({ phase: "waiting", owner: "default" })).toEqual(["a2"]);
        expect(await list({ phase: "queued" })).toEqual(["b1", "a3"]);
        expect(await list({ phase: "completed" })).toEqual(["c2", "c1", "a1"]);
        expect(await list({ phase: "held" })).toEqual([]);
        expect(await list({ updatedAfter: 20 })).toEqual(["c2", "c1", "b1"]);
        expect(await list({ updatedAfter: 31 })).toEqual([]);
        expect(await list({ createdBefore: 3 })).toEqual(["b1", "a3", "a2", "a1"]);
        expect(await list({ createdBefore: 3, phase: "queued" })).toEqual(["b1", "a3"]);
        expect(await list({ createdBefore: 3, phase: "waiting", updatedAfter: 10 })).toEqual(["a2"]);
        expect(await list({ createdBefore: 2, runId: asRunId("b") })).toEqual([]);
        expect(await list({ createdBefore: 1 })).toEqual([]);
      }
    });

    test("a run that is updated between two pages moves to the start, and nothing is listed twice", async () => {
      const log = await openFor(subject);
      const { a } = await fill(log);
      const first = await log.listRequests({ limit: 4 });
      expect(first.requests.map(({ requestId }) => requestId)).toEqual(["c2", "c1", "b1", "a3"]);
      await log.append(a, {
        events: [],
        records: [],
        run: row({ ...WAITING, updatedAt: 40 }),
        requests: [mark("a4", 4)],
      });
      const second = await log.listRequests({ limit: 1, cursor: first.next ?? "" });
      expect(second.requests.map(({ requestId }) => requestId)).toEqual(["a2"]);
      expect(await ids(log, { limit: 1, cursor: second.next ?? "" })).toEqual(["a1"]);
      expect(await ids(log, { limit: 2 })).toEqual(["a4", "a3", "a2", "a1", "c2", "c1", "b1"]);
    });

    test("the requests of a removed run are not listed", async () => {
      const log = await openFor(subject);
      const { a } = await fill(log);
      const { next = "" } = await log.listRequests({ limit: 4 });
      await log.remove(a);
      expect(await ids(log, { limit: 2 })).toEqual(["c2", "c1", "b1"]);
      expect(await ids(log, { limit: 2, cursor: next })).toEqual([]);
    });
  });
}

const WAITING = { status: "waiting", started: asRequestId("a2") } as const;

/** Three runs: one whose second request waits, one of another owner, and one of another agent with two ended requests. */
async function fill(log: EventLog): Promise<{ readonly a: Cursor }> {
  const done = { phase: "completed", started: 1, completed: 2 } as const;
  const a = await begin(log, "a", { ...WAITING, createdAt: 1, updatedAt: 10 }, [
    { ...mark("a1", 1), ...done },
    { ...mark("a2", 2), phase: "waiting", started: 3 },
    mark("a3", 3),
  ]);
  await begin(log, "b", { owner: "acme", status: "running", createdAt: 2, updatedAt: 20 }, [mark("b1", 1)]);
  const ended = [mark("c1", 1), mark("c2", 2)].map((one) => ({ ...one, ...done }));
  await begin(log, "c", { agent: "other", createdAt: 3, updatedAt: 30 }, ended);
  return { a };
}

function mark(id: string, n: number): RequestMark {
  return accepted(id, { createdAt: n, accepted: { n, after: n } });
}

async function begin(
  log: EventLog,
  id: string,
  fields: Partial<RunRow>,
  requests: readonly RequestMark[],
): Promise<Cursor> {
  const { cursor } = await log.claim(asRunId(id));
  return log.append(cursor, { events: [], records: [], run: row(fields), requests });
}

async function listAll(
  log: EventLog,
  { limit = 10, ...query }: Partial<RequestListQuery> = {},
): Promise<readonly ListedRequestEntry[]> {
  const found: ListedRequestEntry[] = [];
  for (let { cursor } = query; ;) {
    const page = await log.listRequests({ ...query, limit, ...(cursor !== undefined && { cursor }) });
    expect(page.requests.length).toBeLessThanOrEqual(limit);
    found.push(...page.requests);
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

async function ids(log: EventLog, query: Partial<RequestListQuery>): Promise<readonly string[]> {
  return (await listAll(log, query)).map(({ requestId }) => requestId);
}
