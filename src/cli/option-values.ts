import { InvalidArgumentError } from "./vendor/commander.ts";

/** Reads a time, in milliseconds since 1970. */
export function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new InvalidArgumentError("Write a time such as 2030-01-31 or 2030-01-31T12:00:00Z.");
}

/** Reads how many of something there are, at least one. */
export function parseWholeNumber(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}
