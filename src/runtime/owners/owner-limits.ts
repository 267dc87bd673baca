import { isRole } from "../../ports/principal.ts";
import { isObject } from "../../protocol/json.ts";

/** What the completions of an agent may use in all runs of an owner, and what a run of the agent may use. */
export interface AgentBudget {
  /** Tokens, of input and output, that its completions use on a day in UTC, also those that another agent has called it for. */
  readonly tokensPerDay?: number;
  /** The same for the cost. */
  readonly costPerDay?: number;
  /** Tokens that all completions of a run of the agent use, instead of `tokensPerRun` of the owner. */
  readonly tokensPerRun?: number;
  /** The same for the cost. */
  readonly costPerRun?: number;
}

/** What an owner may use. Each limit is a number of 0 or more; one that is absent does not limit. */
export interface OwnerLimits {
  /**
   * Requests and messages of clients in a minute. As many may come at once, and one more after each part of the minute.
   */
  readonly requestsPerMinute?: number;
  /** Turns that work or wait for their start. A turn that waits for an answer or sleeps does not count. */
  readonly openTurns?: number;
  /** Bytes of all runs and files. They are counted every minute. */
  readonly storedBytes?: number;
  /** Schedules of all actors. Of several that are made at once, some may exceed it. */
  readonly schedules?: number;
  /** Bytes of files that clients have uploaded and no request has attached yet. */
  readonly uploadBytes?: number;
  /**
   * Tokens, of input and output, that completions use on a day in UTC. A completion above it waits until somebody with one of the
   * `budgetApprovers` raises the budget of the day, or the day is over. One that has begun goes on, so each run can exceed it by one.
   */
  readonly tokensPerDay?: number;
  /** The same for the cost, in the unit in which the models report it. */
  readonly costPerDay?: number;
  /**
   * Tokens that all completions of one run use. Above it they wait as above the budget of a day, but until somebody raises the
   * budget of the run.
   */
  readonly tokensPerRun?: number;
  /** The same for the cost. */
  readonly costPerRun?: number;
  /** Budgets of agents, by their names, beside those of the owner. What an agent spends counts from when it has one. */
  readonly agents?: { readonly [agent: string]: AgentBudget };
  /** The roles that may raise a budget. Default `["operator"]`; an admin always may. */
  readonly budgetApprovers?: readonly string[];
}

/**
 * The limits of an owner; `undefined` for none. The answer is used for ten seconds, so a change counts soon after. A function
 * that fails leaves the limits as they were.
 */
export type LimitsOfOwner = (owner: string) => OwnerLimits | undefined | Promise<OwnerLimits | undefined>;

const BUDGETS = [
  "tokensPerDay",
  "costPerDay",
  "tokensPerRun",
  "costPerRun",
] as const satisfies readonly (keyof AgentBudget)[];

const NUMBERS = [
  "requestsPerMinute",
  "openTurns",
  "storedBytes",
  "uploadBytes",
  "schedules",
  ...BUDGETS,
] as const satisfies readonly (keyof OwnerLimits)[];

/** A copy of what code of an application has returned. Throws a TypeError, with the fact, if these are no limits. */
export function parseOwnerLimits(given: unknown): OwnerLimits {
  if (given === undefined) return {};
  if (!isObject(given)) throw new TypeError("the limits are no object");
  const { agents, budgetApprovers, ...numbers } = given as Readonly<Record<string, unknown>>;
  const limits = {
    ...parseNumbers(numbers, NUMBERS, { others: ["agents", "budgetApprovers"] }),
    ...(agents !== undefined && { agents: parseAgents(agents) }),
  };
  if (budgetApprovers === undefined) return limits;
  const isList =
    Array.isArray(budgetApprovers) && budgetApprovers.length > 0 && budgetApprovers.length <= ROLES;
  if (!isList || !budgetApprovers.every(isRole))
    throw new TypeError(
      `budgetApprovers are not 1 to ${ROLES} roles, each of 1 to 64 visible ASCII characters`,
    );
  return { ...limits, budgetApprovers: [...new Set(budgetApprovers)] };
}

function parseAgents(given: unknown): { readonly [agent: string]: AgentBudget } {
  if (!isObject(given)) throw new TypeError("agents is no object with the budgets of agents by their names");
  const entries = Object.entries(given).filter(([, budget]) => budget !== undefined);
  return Object.fromEntries(
    entries.map(([agent, budget]) => {
      if (!isObject(budget)) throw new TypeError(`the budget of agent ${agent} is no object`);
      return [agent, parseNumbers(budget, BUDGETS, { of: ` of agent ${agent}` })];
    }),
  );
}

function parseNumbers<Name extends string>(
  given: Readonly<Record<string, unknown>>,
  names: readonly Name[],
  { of = "", others = [] }: { readonly of?: string; readonly others?: readonly string[] },
): { readonly [name in Name]?: number } {
  const limits: { [name in Name]?: number } = {};
  for (const [text, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const name = names.find((known) => known === text);
    if (name === undefined)
      throw new TypeError(`there is no limit ${text}${of}; there are ${[...names, ...others].join(", ")}`);
    if (typeof value !== "number" || !(value >= 0))
      throw new TypeError(`the limit ${name}${of} is not a number of 0 or more`);
    limits[name] = value;
  }
  return limits;
}

/** How many roles may raise a budget, as many as a question can have. */
const ROLES = 20;
