import { describe, expect, test } from "vitest";
import { NO_SUMS, STATISTICS_BY, addSums, countOne } from "../../../ports/statistics.ts";
import type {
  StatisticsEntry,
  StatisticsGroup,
  StatisticsQuery,
  StatisticsSums,
} from "../../../ports/statistics.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import { asRunId, joinFor, openFor, reopenFor, row } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** The sums of any time are those of the turns and completions that ended in it, also where an engine keeps sums of several hours. */
export function testStatisticSums(subject: EventLogSubject): void {
  describe("sums of statistics", () => {
    test.each([1, 2, 3])(
      "those of any time, owner and agent are the sums of what has ended (seed %i)",
      async (seed) => {
        const chance = createChance(seed);
        const of = (count: number): number => Math.floor(chance() * count);
        let log = await openFor(subject);
        const other = subject.join === undefined ? log : await joinFor(subject.join, log);
        let ended: readonly StatisticsEntry[] = [];
        for (let round = 0; round < 12; round += 1) {
          // Time goes on, but some of it comes late, also of the weeks before.
          const batch = Array.from({ length: 15 }, () => end(of, round * 60 - of(4) ** 5));
          await append(round % 2 === 0 ? log : other, `run-${round}`, batch);
          ended = [...ended, ...batch];
          if (round % 3 === 1) await log.indexed?.();
          if (round === 7) {
            await log.statistics.remove("owner-1");
            ended = ended.filter(({ owner }) => owner !== "owner-1");
          }
          if (round % 4 === 3) await expectSums(log, ended, of);
        }
        if (subject.reopen !== undefined && subject.join === undefined)
          log = await reopenFor(subject.reopen, log);
        await log.indexed?.();
        await expectSums(log, ended, of);
        expect(await log.statistics.since()).toBe(Math.min(...ended.map(({ hour }) => hour)));
        const [first] = await log.statistics.list({ limit: 1 });
        if (first === undefined) throw new Error("nothing is known");
        const put = { ...first, ...countOne(70), cost: 3 };
        await log.statistics.put([put]);
        ended = [...ended.filter((entry) => keyOf(entry) !== keyOf(first)), put];
        await expectSums(log, ended, of);
        await log.indexed?.();
        await expectSums(log, ended, of);
      },
    );

    test("a removed owner is in no sum", async () => {
      const log = await openFor(subject);
      const of = (): number => 0;
      const own = { ...end(of, 0), owner: "gone", agent: "own" };
      await append(log, "a", [own, { ...own, hour: own.hour + 30 }, { ...end(of, 200), owner: "other" }]);
      await log.indexed?.();
      await log.statistics.remove("gone");
      await log.indexed?.();
      const all = { from: 0, until: HOUR + 999 };
      expect((await log.statistics.sum({ ...all, by: "agent" })).map(({ group }) => group)).toEqual([
        "agent-0",
      ]);
      expect((await log.statistics.sum({ ...all, by: "owner" })).map(({ group }) => group)).toEqual([
        "other",
      ]);
    });
  });
}

const HOUR = 480_000;

/** A turn or a completion that ends some hours after the first one. */
function end(of: (count: number) => number, hours: number): StatisticsEntry {
  const kind = of(3) === 0 ? "turn" : "completion";
  const outcome =
    (["success", "success", "canceled", "error:timeout", "error:agent_error"] as const)[of(5)] ?? "success";
  return {
    hour: HOUR + Math.max(hours, -400) + of(60),
    owner: `owner-${of(4)}`,
    kind,
    agent: `agent-${of(3)}`,
    name: `name-${of(2)}`,
    outcome,
    ...countOne(of(100_000)),
    ...(outcome.startsWith("error:") && { runId: asRunId(`run-${of(9)}`) }),
    ...(kind === "completion" && {
      inputTokens: of(1_000),
      cachedTokens: of(100),
      outputTokens: of(300),
      reasoningTokens: of(50),
      cost: of(8) / 4,
      unknownCosts: of(2),
    }),
  };
}

async function append(log: EventLog, id: string, statistics: readonly StatisticsEntry[]): Promise<void> {
  const { cursor } = await log.claim(asRunId(id));
  log.release(await log.append(cursor, { events: [], records: [], run: row(), statistics }));
}

/** Compares the sums of some times with those of what has ended. */
async function expectSums(
  log: EventLog,
  ended: readonly StatisticsEntry[],
  of: (count: number) => number,
): Promise<void> {
  for (const by of STATISTICS_BY) {
    for (let time = 0; time < 4; time += 1) {
      const from = HOUR - 500 + of(800);
      const query: StatisticsQuery = {
        by,
        from: time === 0 ? 0 : from,
        until: time === 0 ? HOUR * 2 : from + 1 + of(700),
        ...(of(3) === 0 && { owner: `owner-${of(4)}` }),
        ...(of(3) === 0 && { agent: `agent-${of(3)}` }),
      };
      expect({ query, sums: toTexts(await log.statistics.sum(query)) }).toEqual({
        query,
        sums: toTexts(sumOf(query, ended)),
      });
      if (by !== "owner") continue;
      const { owner: _owner, ...ofAll } = query;
      const limit = 1 + of(4);
      const owners = await log.statistics.owners({ ...ofAll, limit });
      expect({ query, limit, ...owners, groups: toTexts(owners.groups) }).toEqual({
        query,
        limit,
        ...mostOf(sumOf(ofAll, ended), limit),
      });
    }
  }
}

/** The sums of the owners with the most turns and completions. */
function mostOf(
  groups: readonly StatisticsGroup[],
  limit: number,
): { readonly count: number; readonly groups: readonly string[] } {
  const counts = new Map<string, number>();
  for (const { group, count } of groups) counts.set(String(group), (counts.get(String(group)) ?? 0) + count);
  const most = [...counts].sort(([a, one], [b, two]) => two - one || (a < b ? -1 : 1)).slice(0, limit);
  const names = new Set(most.map(([name]) => name));
  return { count: counts.size, groups: toTexts(groups.filter(({ group }) => names.has(String(group)))) };
}

function sumOf(
  { by, from, until, owner, agent }: StatisticsQuery,
  ended: readonly StatisticsEntry[],
): readonly StatisticsGroup[] {
  const hasDurations = by === "operation" || by === "model";
  const sums = new Map<string, StatisticsGroup>();
  for (const entry of ended) {
    if (entry.hour < from || entry.hour >= until) continue;
    if (owner !== undefined && owner !== entry.owner) continue;
    if (agent !== undefined && agent !== entry.agent) continue;
    const isError = entry.outcome.startsWith("error:");
    if (by === "model" && entry.kind !== "completion") continue;
    if (by === "operation" && entry.kind !== "turn") continue;
    if (by === "error" && !(entry.kind === "turn" && isError)) continue;
    const group = {
      agent: entry.agent,
      model: entry.name,
      operation: entry.name,
      error: entry.outcome,
      owner: entry.owner,
      hour: entry.hour,
      day: entry.hour - (entry.hour % 24),
    }[by];
    const hasAgent = by === "operation" || by === "error";
    const key = { group, agent: hasAgent ? entry.agent : "", kind: entry.kind, outcome: entry.outcome };
    const before: StatisticsSums = sums.get(JSON.stringify(key)) ?? NO_SUMS;
    const { durations, ...added } = addSums(before, entry);
    sums.set(JSON.stringify(key), {
      ...key,
      ...added,
      durations: hasDurations ? durations : NO_SUMS.durations,
    });
  }
  return [...sums.values()];
}

function toTexts(groups: readonly StatisticsGroup[]): readonly string[] {
  return groups
    .map(({ group, agent, kind, outcome, ...sums }) =>
      JSON.stringify([group, agent, kind, outcome, addSums(NO_SUMS, sums)]),
    )
    .sort();
}

function keyOf({ hour, owner, kind, agent, name, outcome }: StatisticsEntry): string {
  return JSON.stringify([hour, owner, kind, agent, name, outcome]);
}

/** The same numbers for the same seed. */
function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
