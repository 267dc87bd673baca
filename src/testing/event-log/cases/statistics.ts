import { describe, expect, test } from "vitest";
import { countOne } from "../../../ports/statistics.ts";
import type { StatisticsEntry, StatisticsGroup } from "../../../ports/statistics.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import { asRunId, openFor, reopenFor, row, besideId } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** What turns and completions have done, by the hour. */
export function testStatistics(subject: EventLogSubject): void {
  const { reopen } = subject;

  describe("statistics", () => {
    test("turns and completions are added to those of their hour, also after a restart", async () => {
      let log = await openFor(subject);
      expect(await log.statistics.since()).toBeUndefined();
      await count(log, "a", [turn({}), turn({}, 400), asked({}, { inputTokens: 90, cost: 0.25 })]);
      await count(log, "b", [turn({}, 4_000_000), asked({}, { inputTokens: 10, unknownCosts: 1 })]);
      await count(log, "b", [turn({ owner: "bolt", hour: HOUR + 25 })]);
      if (reopen !== undefined) log = await reopenFor(reopen, log);
      expect(await log.statistics.since()).toBe(HOUR);
      const listed = await log.statistics.list({ limit: 9 });
      const turns = { ...turn({}), count: 3, ms: 4_000_405, durations: [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1] };
      const completions = { ...asked({}), count: 2, ms: 40, durations: [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] };
      expect(listed).toEqual([
        turns,
        { ...completions, inputTokens: 100, cost: 0.25, unknownCosts: 1 },
        turn({ owner: "bolt", hour: HOUR + 25 }),
      ]);
      const [first] = listed;
      expect(await log.statistics.list({ limit: 1 })).toEqual(listed.slice(0, 1));
      expect(await log.statistics.list({ limit: 9, ...(first && { after: first }) })).toEqual(
        listed.slice(1),
      );
    });

    test("they are summed up by each group, for a time, an owner and an agent", async () => {
      const log = await openFor(subject);
      const failed = { outcome: "error:timeout", runId: asRunId("a") };
      await count(log, "a", [turn({}), turn({ agent: "clerk" }), turn(failed), asked({}, { cost: 0.5 })]);
      await count(log, "b", [
        turn({ owner: "bolt", name: "pay", hour: HOUR + 1 }),
        asked({ owner: "bolt", name: "large", hour: HOUR + 30 }, { cost: 2 }),
      ]);
      const sum = async (
        by: Parameters<EventLog["statistics"]["sum"]>[0]["by"],
        which: { readonly owner?: string; readonly agent?: string; readonly until?: number } = {},
      ): Promise<readonly string[]> => {
        const groups = await log.statistics.sum({ by, from: HOUR, until: HOUR + 48, ...which });
        return groups.map(toLine).sort();
      };
      expect(await sum("agent")).toEqual([
        "clerk  turn success 1 0",
        "desk  completion success 2 2.5",
        "desk  turn error:timeout 1 0",
        "desk  turn success 2 0",
      ]);
      expect(await sum("model")).toEqual([
        "large  completion success 1 2",
        "small  completion success 1 0.5",
      ]);
      expect(await sum("operation")).toEqual([
        "chat clerk turn success 1 0",
        "chat desk turn error:timeout 1 0",
        "chat desk turn success 1 0",
        "pay desk turn success 1 0",
      ]);
      expect(await sum("error")).toEqual(["error:timeout desk turn error:timeout 1 0"]);
      expect(await sum("owner", { until: HOUR + 2 })).toEqual([
        "acme  completion success 1 0.5",
        "acme  turn error:timeout 1 0",
        "acme  turn success 2 0",
        "bolt  turn success 1 0",
      ]);
      expect(await sum("hour", { owner: "bolt" })).toEqual([
        `${HOUR + 1}  turn success 1 0`,
        `${HOUR + 30}  completion success 1 2`,
      ]);
      const day = HOUR - (HOUR % 24);
      expect(await sum("day", { agent: "desk" })).toEqual([
        `${day}  completion success 1 0.5`,
        `${day}  turn error:timeout 1 0`,
        `${day}  turn success 2 0`,
        `${day + 24}  completion success 1 2`,
      ]);
      const [operation] = await log.statistics.sum({
        by: "operation",
        from: HOUR,
        until: HOUR + 1,
        agent: "clerk",
      });
      expect(operation?.durations).toEqual(countOne(5).durations);
      expect(await log.statistics.failed({ from: HOUR, until: HOUR + 48, limit: 9 })).toEqual([
        { hour: HOUR, agent: "desk", outcome: "error:timeout", runId: "a" },
      ]);
      expect(await log.statistics.failed({ from: HOUR, until: HOUR + 48, owner: "bolt", limit: 9 })).toEqual(
        [],
      );
    });

    test("those of an owner are removed, and those of a removed run stay", async () => {
      const log = await openFor(subject);
      await count(log, "a", [turn({}), turn({ owner: "bolt" })]);
      const { cursor } = await log.claim(asRunId("a"));
      await log.remove(cursor, { erases: true });
      expect(await log.statistics.list({ limit: 9 })).toHaveLength(2);
      await log.statistics.remove("acme");
      expect(await log.statistics.list({ limit: 9 })).toEqual([turn({ owner: "bolt" })]);
    });

    test("entries of another log take the place of those that are there", async () => {
      const log = await openFor(subject);
      await count(log, "a", [turn({})]);
      const failed = turn({ outcome: "error:timeout", runId: asRunId("b") });
      await log.statistics.put([{ ...turn({}), count: 7 }, failed]);
      expect(await log.statistics.list({ limit: 9 })).toEqual([failed, { ...turn({}), count: 7 }]);
    });

    test("they are kept for 400 days", async () => {
      const log = await openFor(subject);
      await count(log, "a", [turn({}), turn({ hour: HOUR + 1 })]);
      await count(log, besideId(log, "a", "b"), [turn({ hour: HOUR + 9_600 })]);
      const hours = (await log.statistics.list({ limit: 9 })).map(({ hour }) => hour);
      expect(hours).toEqual([HOUR + 1, HOUR + 9_600]);
    });

    test("an append that is refused counts nothing", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("a"));
      await log.claim(asRunId("a"));
      const append = async (): Promise<unknown> =>
        log.append(cursor, { events: [], records: [], run: row(), statistics: [turn({})] });
      await expect(append()).rejects.toMatchObject({ name: "Fenced" });
      expect(await log.statistics.list({ limit: 9 })).toEqual([]);
    });

    test("those of many runs at once are all counted", async () => {
      const log = await openFor(subject);
      await Promise.all(
        Array.from({ length: 100 }, (_, at) => count(log, `run-${at}`, [turn({ name: `op-${at % 3}` })])),
      );
      const counts = (await log.statistics.list({ limit: 9 })).map((entry) => entry.count);
      expect(counts).toEqual([34, 33, 33]);
    });
  });
}

const HOUR = 480_002;

function turn(key: Partial<StatisticsEntry>, ms = 5): StatisticsEntry {
  const place = { hour: HOUR, owner: "acme", kind: "turn", agent: "desk", name: "chat" } as const;
  return { ...place, outcome: "success", ...countOne(ms), ...key };
}

function asked(key: Partial<StatisticsEntry>, sums: Partial<StatisticsEntry> = {}): StatisticsEntry {
  return { ...turn({ kind: "completion", name: "small", ...key }, 20), ...sums };
}

async function count(log: EventLog, id: string, statistics: readonly StatisticsEntry[]): Promise<void> {
  const { cursor } = await log.claim(asRunId(id));
  log.release(await log.append(cursor, { events: [], records: [], run: row(), statistics }));
}

function toLine({ group, agent, kind, outcome, count: total, cost }: StatisticsGroup): string {
  return `${group} ${agent} ${kind} ${outcome} ${total} ${cost}`;
}
