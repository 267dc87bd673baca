import { toFlag } from "./incoming.ts";
import type { Parsed } from "./parse.ts";

/** Parses a position in a run's log, as in `since` and `Last-Event-ID`: a whole number ≥ 0. */
export function parseCursor(text: string): Parsed<number> {
  const cursor = DIGITS.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return { ok: true, value: cursor };
  return refuse("must be the id of an event, or 0");
}

/** Parses a boolean: `true`, `1`, `false` or `0`, in any letter case. */
export function parseFlag(text: string): Parsed<boolean> {
  const flag = toFlag(text);
  return typeof flag === "boolean" ? { ok: true, value: flag } : refuse("must be true or false");
}

const DIGITS = /^\d{1,16}$/;

function refuse(message: string): Parsed<never> {
  return { ok: false, message, issues: [{ path: "", message }] };
}
