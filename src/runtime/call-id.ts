import type { CallId } from "../protocol/ids.ts";

/** The scope in which a call was made: its id without the last number. */
export function scopeOf(callId: CallId): string {
  return callId.slice(0, callId.lastIndexOf("."));
}

/** The call under which a call was made, past the branches in between; `undefined` at the root. */
export function callAbove(callId: CallId): CallId | undefined {
  const scope = scopeOf(callId);
  const colon = scope.lastIndexOf(":");
  // A branch `c1.4:0` belongs to the call of `all`, which itself never has an outcome.
  const above = colon > scope.lastIndexOf(".") ? scope.slice(0, colon) : scope;
  return above.includes(".") ? (above as CallId) : undefined;
}

/** Whether a call, or what speaks under it, belongs to another call. */
export function isUnder(callId: string, above: CallId): boolean {
  if (!callId.startsWith(above)) return false;
  const next = callId[above.length];
  return next === undefined || next === "." || next === ":";
}
