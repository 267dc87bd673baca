import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../../ports/event-log.ts";
import type { RunEntryQuery } from "../../../../ports/log-queries.ts";
import type { RunRow } from "../../../../ports/log-batch.ts";
import { accepted, alias, asRequestId, asRunId, openFor, reopenFor, row, besideId } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The search among the runs, which has the same answers before and after an engine has written its index. */
export function testRunSearch(subject: EventLogSubject): void {
  describe("the search among runs", () => {
    test("a run is found by the beginnings of the words of its input and of its newest output", async () => {
      const log = await openFor(subject);
      await speak(
        log,
        "run-a",
        { initialInput: { question: "How tall is Cologne Cathedral?" } },
        "157 metres",
      );
      await speak(log, "run-b", { initialInput: "Wie hoch ist der Kölner Dom?" }, { height: "157 m" });
      await always(log, async (found) => {
        expect(await found("cathedral")).toEqual(["run-a"]);
        expect(await found("CATH how")).toEqual(["run-a"]);
        expect(await found("koln")).toEqual(["run-b"]);
        expect(await found("157")).toEqual(["run-b", "run-a"]);
        expect(await found("157 metres")).toEqual(["run-a"]);
        expect(await found("edral")).toEqual([]);
        expect(await found("question")).toEqual([]);
        expect(await found("?!")).toEqual([]);
      });
      await speak(log, "run-a", { initialInput: { question: "How tall is Cologne Cathedral?" } }, "High");
      await always(log, async (found) => {
        expect(await found("metres")).toEqual([]);
        expect(await found("high cathedral")).toEqual(["run-a"]);
      });
    });

    test("a text without spaces is found by a part of it", async () => {
      const log = await openFor(subject);
      await speak(log, "run-a", { initialInput: "東京都の天気" }, "晴れ");
      await speak(log, "run-b", { initialInput: "京都の天気は？" }, "雨");
      await always(log, async (found) => {
        expect(await found("東京")).toEqual(["run-a"]);
        expect(await found("京都")).toEqual(["run-b", "run-a"]);
        expect(await found("の天気")).toEqual(["run-b", "run-a"]);
        expect(await found("気は")).toEqual(["run-b"]);
        expect(await found("晴")).toEqual(["run-a"]);
        expect(await found("雨天")).toEqual([]);
      });
    });

    test("a word that is longer than what is kept of one does not end in half of a letter", async () => {
      const log = await openFor(subject);
      // Each of these letters is two units of UTF-16.
      const word = `a${"\u{10428}".repeat(30)}`;
      await speak(log, "run-a", { initialInput: `${word} one` }, word);
      await speak(log, "run-b", { initialInput: "two" }, null);
      await always(log, async (found) => {
        expect(await found(word)).toEqual(["run-a"]);
        expect(await found(word.slice(0, 9))).toEqual(["run-a"]);
        expect(await found("two")).toEqual(["run-b"]);
      });
    });

    test("a run is found by its id, its key, its newest request and its metadata", async () => {
      const log = await openFor(subject);
      await speak(log, "run-one", { metadata: { customer: "ACME" }, initialInput: null }, null);
      await speak(log, "run-two", { initialInput: null }, null, "order-17");
      await always(log, async (found) => {
        expect(await found("run-on")).toEqual(["run-one"]);
        expect(await found("acme")).toEqual(["run-one"]);
        expect(await found("order-1")).toEqual(["run-two"]);
        expect(await found("request-of-run-tw")).toEqual(["run-two"]);
      });
    });

    test("a key that another run gets finds that one", async () => {
      const log = await openFor(subject);
      await speak(log, "run-a", {}, null, "desk");
      await log.indexed?.();
      const nextId = besideId(log, "run-a", "run-b");
      const { cursor } = await log.claim(nextId);
      await log.append(cursor, {
        events: [JSON.stringify({ id: 1, type: "RunCreated" })],
        records: [],
        run: row({ updatedAt: 2_000_000 }),
        alias: { ...alias("desk"), from: asRunId("run-a") },
      });
      await always(log, async (found) => expect(await found("desk")).toEqual([nextId]));
    });

    test("a search goes together with the other conditions of a list, and has pages", async () => {
      const log = await openFor(subject);
      for (let n = 10; n < 30; n += 1) {
        const fields = { initialInput: `order ${n}`, agent: n % 2 === 0 ? "echo" : "team" };
        await speak(log, `run-${n}`, n % 5 === 0 ? { ...fields, owner: "alice" } : fields, "done");
      }
      await always(log, async (found) => {
        const all = Array.from({ length: 20 }, (_, at) => `run-${29 - at}`);
        expect(await found("order")).toEqual(all);
        expect(await found("order", { oldestFirst: true })).toEqual(all.toReversed());
        expect(await found("order", { owner: "alice" })).toEqual(["run-25", "run-20", "run-15", "run-10"]);
        expect(await found("order", { owner: "alice", agent: "echo" })).toEqual(["run-20", "run-10"]);
        expect(await found("order 2", { owner: "bob" })).toEqual([]);
        expect(await found("order 11", { owner: "default" })).toEqual(["run-11"]);
        expect(await found("15", { owner: "default" })).toEqual([]);
      });
    });

    test("an output that a run does not keep is not found", async () => {
      const log = await openFor(subject);
      await speak(log, "run-a", { initialInput: "asked" }, "canary");
      await log.indexed?.();
      const { cursor } = await log.claim(asRunId("run-a"));
      const base = { head: cursor.head, records: cursor.records, data: "kept" };
      await log.append(cursor, { events: [], records: [], base });
      await always(log, async (found) => {
        expect(await found("canary")).toEqual([]);
        expect(await found("asked")).toEqual(["run-a"]);
      });
    });

    test("a removed run is not found", async () => {
      const log = await openFor(subject);
      await speak(log, "run-a", { initialInput: "canary" }, "bird");
      await log.indexed?.();
      const { cursor } = await log.claim(asRunId("run-a"));
      await log.remove(cursor);
      await always(log, async (found) => {
        expect(await found("canary")).toEqual([]);
        expect(await found("run-a")).toEqual([]);
      });
    });

    test.runIf(subject.reopen !== undefined)("what was not in the index is found after a start", async () => {
      const log = await openFor(subject);
      await speak(log, "run-a", { initialInput: "before" }, "x");
      const next = await reopenFor(subject.reopen ?? (async (same) => same), log);
      await always(next, async (found) => expect(await found("before")).toEqual(["run-a"]));
    });
  });
}

type Find = (text: string, query?: Partial<RunEntryQuery>) => Promise<readonly string[]>;

/** Does the same before and after the index is written. */
async function always(log: EventLog, check: (found: Find) => Promise<void>): Promise<void> {
  const found: Find = async (text, query = {}) => {
    const runs: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await log.list({ limit: 3, text, ...query, ...(cursor !== undefined && { cursor }) });
      runs.push(...page.runs.map(({ runId }) => runId));
      cursor = page.next;
      if (cursor === undefined) return runs;
    }
  };
  await check(found);
  await log.indexed?.();
  await check(found);
}

let turns = 0;

/** Has a turn with an output in a run, which then is the run that was updated last. */
async function speak(
  log: EventLog,
  id: string,
  fields: Partial<RunRow>,
  output: unknown,
  key?: string,
): Promise<void> {
  turns += 1;
  const { cursor, run } = await log.claim(asRunId(id));
  const requestId = asRequestId(`request-of-${id}-n${turns}`);
  const [start, end] = [cursor.head + 1, cursor.head + 2];
  await log.append(cursor, {
    events: [
      JSON.stringify({ id: start, type: "RequestStarted" }),
      JSON.stringify({ id: end, type: "RequestCompleted", output }),
    ],
    records: [],
    run: row({
      ...fields,
      updatedAt: 1_000 + turns,
      turns: (run?.turns ?? 0) + 1,
      lastTurn: {
        request_id: requestId,
        operation: "chat",
        started_at: new Date(turns).toISOString(),
        ended_at: new Date(turns).toISOString(),
        finish_reason: "success",
      },
    }),
    requests: [
      accepted(requestId, {
        phase: "completed",
        createdAt: turns,
        accepted: { n: turns, after: cursor.head },
        started: start,
        completed: end,
      }),
    ],
    ...(key !== undefined && { alias: alias(key) }),
  });
}
