import type { CallId } from "../../protocol/ids.ts";

/** The scope of the handler of a turn, by the number of the turn in its run. */
export function rootOf(turn: number): CallId {
  return `c${turn}` as CallId;
}

/** The scope in which a call was made, or of which a branch is one: its id without the last step. */
export function scopeOf(callId: string): string {
  return callId.slice(0, callId.lastIndexOf("."));
}

/** The call under which a call was made, past the branches in between; `undefined` at the root. */
export function callAbove(callId: CallId): CallId | undefined {
  const scope = scopeOf(callId);
  // A branch `c1.4:0` belongs to the call of `all`, which itself never has an outcome.
  const above = isBranch(scope) ? scope.slice(0, scope.lastIndexOf(":")) : scope;
  return above.includes(".") ? above : undefined;
}

/** Whether a call, or what speaks under it, belongs to another call. */
export function isUnder(callId: string, above: CallId): boolean {
  if (!callId.startsWith(above)) return false;
  const next = callId[above.length];
  return next === undefined || next === "." || next === ":";
}

/** Whether a scope is that of a branch, as `c1.4:0` is one of `c1`. */
export function isBranch(scope: string): boolean {
  return scope.lastIndexOf(":") > scope.lastIndexOf(".");
}

/** A call with all that it was made under, the turn first, then calls and branches; the call itself is the last. */
export function pathTo(callId: string): readonly string[] {
  const path: string[] = [];
  for (let end = 0; end < callId.length;) {
    end += 1;
    const next = callId[end];
    if (next === undefined || next === "." || next === ":") path.push(callId.slice(0, end));
  }
  return path;
}
