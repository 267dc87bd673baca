declare const brand: unique symbol;

/**
 * A string type that is marked with the kind of thing it names. A plain string is accepted; an id of another kind is
 * not. The mark does not exist at run time.
 */
export type Branded<Name extends string> = string & { readonly [brand]?: Name };

/** The id of a run: turns that share memory and one log. */
export type RunId = Branded<"RunId">;

/** The id of a request and of its turn. */
export type RequestId = Branded<"RequestId">;

/** The id of an artifact. */
export type ArtifactId = Branded<"ArtifactId">;

/**
 * The id of a call, unique in its run and equal on every replay: `c`, the number of the turn in its run, and
 * the position of the call in the call tree, for example `c3.1.2`.
 */
export type CallId = Branded<"CallId">;

/** Whether an id is that of a call, or of a call or a scope below it. */
export function isUnder(callId: string, above: CallId): boolean {
  if (!callId.startsWith(above)) return false;
  const next = callId[above.length];
  return next === undefined || next === "." || next === ":";
}

/** The format of run, request and artifact ids, and of all ids that clients choose. */
export const ID_PATTERN: RegExp = /^[A-Za-z0-9_-]{1,128}$/;

/** The format of keys: names that clients choose for runs. */
export const KEY_PATTERN: RegExp = /^[A-Za-z0-9_.:@-]{1,128}$/;

/** What an ISO 8601 time in UTC is. */
export const TIMESTAMP_PATTERN: RegExp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** The first and the last of these times, the ends of the years 0 to 9999, in milliseconds since 1970. */
export const FIRST_TIME_MS = -62_167_219_200_000;
export const LAST_TIME_MS = 253_402_300_799_999;

/** Checks whether a text is a valid key. */
export function isKey(text: string): boolean {
  return KEY_PATTERN.test(text);
}

/** Checks whether a text is a valid run, request or artifact id. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}
