import { AgentError } from "../../errors.ts";
import type { Spent } from "../../ports/spending.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { AgentBudget, OwnerLimits } from "./owner-limits.ts";

/** A budget that a completion needs: whose it is, and what it allows. */
export interface NeededBudget {
  readonly of: "run" | "agent" | "owner";
  readonly tokens: number;
  readonly cost: number;
}

/** Whose completion it is. */
export interface Spender {
  /** The agent that makes it. */
  readonly agent: string;
  /** The agent of the run. */
  readonly runAgent: string;
}

/** The budgets that a completion needs. */
export function budgetsFor(limits: OwnerLimits, { agent, runAgent }: Spender): readonly NeededBudget[] {
  const needed: NeededBudget[] = [];
  const add = (of: NeededBudget["of"], tokens: number | undefined, cost: number | undefined): void => {
    if (tokens === undefined && cost === undefined) return;
    needed.push({ of, tokens: tokens ?? Infinity, cost: cost ?? Infinity });
  };
  const ofRun = { ...limits, ...budgetOf(limits, runAgent) };
  add("run", ofRun.tokensPerRun, ofRun.costPerRun);
  const own = budgetOf(limits, agent);
  add("agent", own?.tokensPerDay, own?.costPerDay);
  add("owner", limits.tokensPerDay, limits.costPerDay);
  return needed;
}

/** Whether an agent has a budget of its own for a day. */
export function hasOwnBudget(limits: OwnerLimits, agent: string): boolean {
  const own = budgetOf(limits, agent);
  return own?.tokensPerDay !== undefined || own?.costPerDay !== undefined;
}

/** The unit in which a budget is used up; `undefined` if it has room. */
export function overIn(
  { tokens, cost }: NeededBudget,
  spent: Spent,
): Pick<Budget, "unit" | "limit" | "spent"> | undefined {
  const mostTokens = tokens + spent.raisedTokens;
  if (spent.tokens >= mostTokens) return { unit: "tokens", limit: mostTokens, spent: spent.tokens };
  const mostCost = cost + spent.raisedCost;
  return spent.cost >= mostCost ? { unit: "cost", limit: mostCost, spent: spent.cost } : undefined;
}

/** The day of a time, counted from 1970, in UTC. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

export const DAY_MS = 86_400_000;

/** What a usage counts in budgets. */
export function toSpent({
  input_tokens: input = 0,
  output_tokens: output = 0,
  cost = 0,
}: Usage): Pick<Spent, "tokens" | "cost"> {
  return { tokens: input + output, cost };
}

/** The most by which one answer raises a budget, so that sums stay exact. */
export const MOST_RAISE = 1e12;

/** By how much an answer raises a budget. Throws `unprocessable` if it says something else. */
export function checkRaise({ unit }: Budget, { raise, ...more }: JsonObject): number {
  const isUnit = unit === "tokens" ? Number.isSafeInteger(raise) : Number.isFinite(raise);
  const amount = Number(raise);
  if (isUnit && amount >= 0 && amount <= MOST_RAISE && Object.keys(more).length === 0) return amount;
  const what = unit === "tokens" ? "a whole number" : "a number";
  const message = `must be ${what} from 0 to ${MOST_RAISE}, and the only value`;
  throw new AgentError("unprocessable", "the answer does not fit the question", {
    issues: [{ path: "raise", message }],
  });
}

/** Its names are those of agents, of which one may be that of a property of every object. */
function budgetOf({ agents }: OwnerLimits, agent: string): AgentBudget | undefined {
  return agents !== undefined && Object.hasOwn(agents, agent) ? agents[agent] : undefined;
}

/** Whether two are about the same budget; what was spent of it may differ. */
export function isSameBudget(one: Budget, other: Budget): boolean {
  return one.unit === other.unit && one.day === other.day && one.agent === other.agent;
}
