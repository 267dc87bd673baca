import { isRole } from "../../ports/principal.ts";
import { isObject } from "../../protocol/json.ts";

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
  /** The roles that may raise a budget. Default `["operator"]`; an admin always may. */
  readonly budgetApprovers?: readonly string[];
}

/**
 * The limits of an owner; `undefined` for none. The answer is used for ten seconds, so a change counts soon after. A function
 * that fails leaves the limits as they were.
 */
export type LimitsOfOwner = (owner: string) => OwnerLimits | undefined | Promise<OwnerLimits | undefined>;

const NUMBERS = [
  "requestsPerMinute",
  "openTurns",
  "storedBytes",
  "uploadBytes",
  "schedules",
  "tokensPerDay",
  "costPerDay",
] as const satisfies readonly (keyof OwnerLimits)[];

/** Whether completions of the owner can have to wait. */
export function hasBudget({ tokensPerDay, costPerDay }: OwnerLimits): boolean {
  return tokensPerDay !== undefined || costPerDay !== undefined;
}

/** A copy of what code of an application has returned. Throws a TypeError, with the fact, if these are no limits. */
export function parseOwnerLimits(given: unknown): OwnerLimits {
  if (given === undefined) return {};
  if (!isObject(given)) throw new TypeError("the limits are no object");
  const { budgetApprovers, ...numbers } = given as Readonly<Record<string, unknown>>;
  const limits: { -readonly [Name in (typeof NUMBERS)[number]]?: number } = {};
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined) continue;
    if (!isLimit(name))
      throw new TypeError(
        `there is no limit ${name}; there are ${[...NUMBERS, "budgetApprovers"].join(", ")}`,
      );
    if (typeof value !== "number" || !(value >= 0))
      throw new TypeError(`the limit ${name} is not a number of 0 or more`);
    limits[name] = value;
  }
  if (budgetApprovers === undefined) return limits;
  const isList =
    Array.isArray(budgetApprovers) && budgetApprovers.length > 0 && budgetApprovers.length <= ROLES;
  if (!isList || !budgetApprovers.every(isRole))
    throw new TypeError(
      `budgetApprovers are not 1 to ${ROLES} roles, each of 1 to 64 visible ASCII characters`,
    );
  return { ...limits, budgetApprovers: [...new Set(budgetApprovers)] };
}

function isLimit(name: string): name is (typeof NUMBERS)[number] {
  return (NUMBERS as readonly string[]).includes(name);
}

/** How many roles may raise a budget, as many as a question can have. */
const ROLES = 20;
