import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { Spending, Spent, SpentEntry, SpentKey, SpentMark } from "../../ports/spending.ts";
import { agentsOf, fromSpender, toSpender } from "../shared/owned-keys.ts";

/** For how many days it is known what was spent. */
const DAYS = 400;

/** What was spent, in memory. */
export class MemorySpending implements Spending {
  /** By spender, then by day. */
  readonly #days = new Map<string, Map<number, Spent>>();

  /** Adds what an append has. */
  note(owner: string, marks: readonly SpentMark[]): void {
    for (const { day, agent, ...mark } of marks) {
      const days = this.#of({ owner, ...(agent !== undefined && { agent }) });
      const before = days.get(day) ?? NOTHING_SPENT;
      days.set(day, {
        tokens: before.tokens + mark.tokens,
        cost: before.cost + mark.cost,
        raisedTokens: before.raisedTokens + mark.raisedTokens,
        raisedCost: before.raisedCost + mark.raisedCost,
      });
      for (const old of days.keys()) if (old <= day - DAYS) days.delete(old);
    }
  }

  on: Spending["on"] = async ({ day, ...key }) => this.#days.get(toSpender(key))?.get(day) ?? NOTHING_SPENT;

  list: Spending["list"] = async ({ after, limit }) => {
    const place = after && ([toSpender(after), after.day] as const);
    const isBehind = (spender: string, day: number): boolean =>
      place === undefined || spender > place[0] || (spender === place[0] && day > place[1]);
    const found: SpentEntry[] = [];
    for (const spender of [...this.#days.keys()].sort()) {
      const days = [...(this.#days.get(spender) ?? [])].sort(([a], [b]) => a - b);
      for (const [day, spent] of days)
        if (isBehind(spender, day)) found.push({ ...fromSpender(spender), day, ...spent });
    }
    return found.slice(0, limit);
  };

  put: Spending["put"] = async (entries) => {
    for (const { owner, agent, day, ...spent } of entries)
      this.#of({ owner, ...(agent !== undefined && { agent }) }).set(day, spent);
  };

  remove: Spending["remove"] = async (owner) => {
    const [after, before] = agentsOf(owner);
    for (const spender of this.#days.keys())
      if (spender === owner || (spender > after && spender < before)) this.#days.delete(spender);
  };

  #of(key: Pick<SpentKey, "owner" | "agent">): Map<number, Spent> {
    const spender = toSpender(key);
    const known = this.#days.get(spender) ?? new Map<number, Spent>();
    this.#days.set(spender, known);
    return known;
  }
}
