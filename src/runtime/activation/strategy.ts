import type { SupervisorStrategy } from "../../protocol/actors.ts";
import type { TurnError, TurnErrorCode } from "../../protocol/events/outcome-codes.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { OpenRequest, RunState } from "../replay/run-state.ts";
import type { TurnEnd } from "../turn/turn-end.ts";

/** What follows the failure of a turn: it is done again after a pause in milliseconds, or the actor is stopped. */
export type Consequence = { readonly type: "restart"; readonly afterMs: number } | { readonly type: "stop" };

const LONGEST_PAUSE_MS = 3_600_000;

/** Errors that are no failure of the actor: the request was wrong, or its code is missing, which people see to. */
const OTHERS: ReadonlySet<TurnErrorCode> = new Set([
  "unsupported_input",
  "not_accepted",
  "stopped",
  "nondeterministic",
  "version_mismatch",
  "agent_missing",
  "snapshot_mismatch",
]);

/** Whether an error is a failure that a supervisor sees to. */
export function isFailure(error: TurnError | undefined): error is TurnError {
  return error !== undefined && !OTHERS.has(error.code);
}

/** The strategy for a request: that of the actor that made it, or else of the first actor that watches the run with one. */
export function strategyOf(
  { supervise }: Pick<AcceptedRequest, "supervise">,
  { watchers = [] }: Pick<RunState, "watchers">,
): SupervisorStrategy | undefined {
  return supervise ?? watchers.find((watcher) => watcher.supervise !== undefined)?.supervise;
}

/** What follows the end of a turn, if that is a failure which a supervisor sees to. */
export function consequenceOf(
  { accepted, restarts = 0 }: OpenRequest,
  { finishReason, error, by }: Pick<TurnEnd, "finishReason" | "error" | "by">,
  state: RunState,
  now: number,
): Consequence | undefined {
  // What an operator ends has not failed by itself.
  if (finishReason !== "error" || by !== undefined || !isFailure(error)) return undefined;
  const strategy = strategyOf(accepted, state);
  if (strategy === undefined) return undefined;
  const { attempts, within_ms: withinMs, backoff_ms: firstMs, then } = strategy;
  const counted =
    withinMs === undefined ? restarts : (state.restarts ?? []).filter((at) => at > now - withinMs).length;
  // A turn that ends the process is not tried more often for that.
  if (counted + 1 < attempts && error.code !== "poisoned")
    return { type: "restart", afterMs: backoffMs({ firstMs, mostMs: LONGEST_PAUSE_MS }, counted) };
  return then === "stop" ? { type: "stop" } : undefined;
}
