import type { CallId, RunId } from "../../protocol/ids.ts";
import { digest } from "../../shared/digest.ts";

/** The scope of a turn's handler, by the number of the turn in its run. */
export function rootOf(turn: number): CallId {
  return `c${turn}` as CallId;
}

/** Whether a scope is that of a turn's handler. */
export function isRoot(scope: string): boolean {
  return !scope.includes(".");
}

/** The scope that contains a call or a branch: its id without the last step. */
export function scopeOf(callId: string): string {
  return callId.slice(0, callId.lastIndexOf("."));
}

/** The call that contains a call, skipping branches; `undefined` at the root. */
export function callAbove(callId: CallId): CallId | undefined {
  const scope = scopeOf(callId);
  // A branch `c1.4:0` belongs to the call of `all`, which itself never has an outcome.
  const above = branchedCall(scope) ?? scope;
  return above.includes(".") ? above : undefined;
}

/** The call whose branch a scope is, as `c1.4` of `c1.4:0`; `undefined` for other scopes. */
export function branchedCall(scope: string): CallId | undefined {
  const end = scope.lastIndexOf(":");
  return end > scope.lastIndexOf(".") ? scope.slice(0, end) : undefined;
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

/**
 * The idempotency key of a call: unique over all runs of all servers, because a provider answers a request whose key it
 * knows without doing anything. It has at most 128 letters, digits, `-`, `_` and `.`, which providers accept; a call id
 * contains no `_`, so `_` stands for its `:`.
 */
export function toCallKey(runId: RunId, callId: CallId): string {
  const key = `${runId}.${callId.replaceAll(":", "_")}`;
  return key.length <= KEY_LENGTH ? key : `d${digest(key)}`;
}

const KEY_LENGTH = 128;
