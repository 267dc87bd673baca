import type { CallId } from "../../protocol/ids.ts";

/** The scope of a turn's handler, by the number of the turn in its run. */
export function rootOf(turn: number): CallId {
  return `c${turn}` as CallId;
}

/** The scope that contains a call or a branch: its id without the last step. */
export function scopeOf(callId: string): string {
  return callId.slice(0, callId.lastIndexOf("."));
}

/** The call that contains a call, skipping branches; `undefined` at the root. */
export function callAbove(callId: CallId): CallId | undefined {
  const scope = scopeOf(callId);
  // A branch `c1.4:0` belongs to the call of `all`, which itself never has an outcome.
  const above = isBranch(scope) ? scope.slice(0, scope.lastIndexOf(":")) : scope;
  return above.includes(".") ? above : undefined;
}

/** Whether a scope is a branch, for example `c1.4:0`. */
function isBranch(scope: string): boolean {
  return scope.lastIndexOf(":") > scope.lastIndexOf(".");
}

/** All scopes that contain a call, from the turn down, and the call itself as the last. */
export function pathTo(callId: string): readonly string[] {
  const path: string[] = [];
  for (let end = 0; end < callId.length;) {
    end += 1;
    const next = callId[end];
    if (next === undefined || next === "." || next === ":") path.push(callId.slice(0, end));
  }
  return path;
}
