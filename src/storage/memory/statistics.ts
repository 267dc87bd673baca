import { NO_SUMS, STATISTICS_HOURS, addSums } from "../../ports/statistics.ts";
import type {
  Statistics,
  StatisticsBy,
  StatisticsEntry,
  StatisticsGroup,
  StatisticsKey,
  StatisticsQuery,
} from "../../ports/statistics.ts";
import { chooseOwners, compareStatistics } from "../shared/lists.ts";

/** What turns and completions have done, in memory. */
export class MemoryStatistics implements Statistics {
  /** By their keys as texts. */
  readonly #entries = new Map<string, StatisticsEntry>();
  #newestHour = 0;

  /** Adds what an append has. */
  note(ended: readonly StatisticsEntry[]): void {
    for (const entry of ended) {
      const key = toKey(entry);
      const known = this.#entries.get(key);
      this.#entries.set(key, known === undefined ? entry : { ...known, ...entry, ...addSums(known, entry) });
      if (entry.hour <= this.#newestHour) continue;
      this.#newestHour = entry.hour;
      for (const [old, { hour }] of this.#entries)
        if (hour <= entry.hour - STATISTICS_HOURS) this.#entries.delete(old);
    }
  }

  since: Statistics["since"] = async () => {
    const hours = [...this.#entries.values()].map(({ hour }) => hour);
    return hours.length === 0 ? undefined : Math.min(...hours);
  };

  sum: Statistics["sum"] = async (query) => {
    const groups = new Map<string, StatisticsGroup>();
    const { includes, toGroup, hasAgent = false, hasDurations = false } = GROUPS[query.by];
    for (const entry of this.#of(query)) {
      if (includes?.(entry) === false) continue;
      const { kind, outcome } = entry;
      const group = { group: toGroup(entry), agent: hasAgent ? entry.agent : "", kind, outcome };
      const key = JSON.stringify(group);
      const { durations, ...sums } = addSums(groups.get(key) ?? NO_SUMS, entry);
      groups.set(key, { ...group, ...sums, durations: hasDurations ? durations : NO_SUMS.durations });
    }
    return [...groups.values()];
  };

  owners: Statistics["owners"] = async ({ limit, ...query }) =>
    chooseOwners(await this.sum({ ...query, by: "owner" }), limit);

  failed: Statistics["failed"] = async ({ limit, ...query }) =>
    this.#of(query)
      .sort((a, b) => b.hour - a.hour || compareStatistics(a, b))
      .flatMap(({ hour, agent, outcome, runId }) =>
        runId === undefined ? [] : [{ hour, agent, outcome, runId }],
      )
      .slice(0, limit);

  list: Statistics["list"] = async ({ after, limit }) =>
    [...this.#entries.values()]
      .sort(compareStatistics)
      .filter((entry) => after === undefined || compareStatistics(entry, after) > 0)
      .slice(0, limit);

  put: Statistics["put"] = async (entries) => {
    for (const entry of entries) this.#entries.set(toKey(entry), entry);
  };

  remove: Statistics["remove"] = async (removed) => {
    for (const [key, { owner }] of this.#entries) if (owner === removed) this.#entries.delete(key);
  };

  #of({ from, until, owner, agent }: Omit<StatisticsQuery, "by">): StatisticsEntry[] {
    return [...this.#entries.values()].filter(
      (entry) =>
        entry.hour >= from &&
        entry.hour < until &&
        (owner === undefined || entry.owner === owner) &&
        (agent === undefined || entry.agent === agent),
    );
  }
}

interface Grouping {
  readonly includes?: (entry: StatisticsEntry) => boolean;
  readonly toGroup: (entry: StatisticsEntry) => string | number;
  readonly hasAgent?: boolean;
  readonly hasDurations?: boolean;
}

const GROUPS: Readonly<Record<StatisticsBy, Grouping>> = {
  agent: { toGroup: ({ agent }) => agent },
  model: {
    includes: ({ kind }) => kind === "completion",
    toGroup: ({ name }) => name,
    hasDurations: true,
  },
  operation: {
    includes: ({ kind }) => kind === "turn",
    toGroup: ({ name }) => name,
    hasAgent: true,
    hasDurations: true,
  },
  error: {
    includes: ({ kind, outcome }) => kind === "turn" && outcome.startsWith("error:"),
    toGroup: ({ outcome }) => outcome,
    hasAgent: true,
  },
  owner: { toGroup: ({ owner }) => owner },
  hour: { toGroup: ({ hour }) => hour },
  day: { toGroup: ({ hour }) => hour - (hour % 24) },
};

function toKey({ hour, owner, kind, agent, name, outcome }: StatisticsKey): string {
  return JSON.stringify([hour, owner, kind, agent, name, outcome]);
}
