import type { Spending, SpentEntry, SpentKey } from "../../ports/spending.ts";
import { openPlace } from "./places.ts";

/** Whether what a log has of spending can be right. */
export interface SpendingCheck {
  /** How many days of owners and of agents with budgets of their own were looked at. */
  readonly days: number;
  /** What is wrong, in a line each; the first hundred. */
  readonly faults: readonly string[];
}

/** Looks at what was spent on completions, which decides whether turns wait for a budget. The log is only read. */
export async function checkSpending(place: string): Promise<SpendingCheck> {
  const { spending, close } = await openPlace(place);
  try {
    return spending === undefined ? { days: 0, faults: [] } : await look(spending);
  } finally {
    await close();
  }
}

async function look(list: Spending["list"]): Promise<SpendingCheck> {
  const faults: string[] = [];
  // A server whose clock is ahead writes of tomorrow.
  const newest = Math.floor(Date.now() / DAY_MS) + 1;
  let days = 0;
  for (let after: SpentKey | undefined; ;) {
    const entries = await list({ limit: PAGE, ...(after && { after }) });
    days += entries.length;
    for (const entry of entries) {
      const what = faultOf(entry, newest);
      if (what !== undefined && faults.length < FAULTS_LIMIT) faults.push(`${toWho(entry)}: ${what}`);
    }
    after = entries.at(-1);
    if (after === undefined) return { days, faults };
  }
}

const PAGE = 500;
const FAULTS_LIMIT = 100;
const DAY_MS = 86_400_000;

function faultOf(
  { day, tokens, cost, raisedTokens, raisedCost }: SpentEntry,
  newest: number,
): string | undefined {
  if (day > newest) return "the day is in the future, so its budget is used before it begins";
  const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
  const isAmount = (value: number): boolean => Number.isFinite(value) && value >= 0;
  if (!isCount(tokens) || !isAmount(cost)) return `${tokens} tokens and a cost of ${cost} cannot be spent`;
  if (isCount(raisedTokens) && isAmount(raisedCost)) return undefined;
  return `a budget cannot be raised by ${raisedTokens} tokens and a cost of ${raisedCost}`;
}

function toWho({ owner, agent, day }: SpentKey): string {
  const who = agent === undefined ? owner : `agent ${agent} of ${owner}`;
  const at = day * DAY_MS;
  return `${who} on ${Math.abs(at) <= LAST_DATE_MS ? new Date(at).toISOString().slice(0, 10) : `day ${day}`}`;
}

/** The last time that a date can have. */
const LAST_DATE_MS = 8.64e15;
