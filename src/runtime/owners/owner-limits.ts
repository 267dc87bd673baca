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
  /** Bytes of files that clients have uploaded and no request has attached yet. */
  readonly uploadBytes?: number;
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
] as const satisfies readonly (keyof OwnerLimits)[];

/** A copy of what code of an application has returned. Throws a TypeError, with the fact, if these are no limits. */
export function parseOwnerLimits(given: unknown): OwnerLimits {
  if (given === undefined) return {};
  if (!isObject(given)) throw new TypeError("the limits are no object");
  const limits: { -readonly [Name in keyof OwnerLimits]: number } = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!isLimit(name)) throw new TypeError(`there is no limit ${name}; there are ${NUMBERS.join(", ")}`);
    if (typeof value !== "number" || !(value >= 0))
      throw new TypeError(`the limit ${name} is not a number of 0 or more`);
    limits[name] = value;
  }
  return limits;
}

function isLimit(name: string): name is (typeof NUMBERS)[number] {
  return (NUMBERS as readonly string[]).includes(name);
}
