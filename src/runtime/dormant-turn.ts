import type { Environment } from "../ports/environment.ts";
import type { CallId, RequestId, RunId } from "../protocol/ids.ts";
import { cancelLogged, deepestFirst } from "./calls-ahead.ts";
import type { Foreign } from "./foreign.ts";
import type { Journal } from "./journal.ts";
import type { RunLedger } from "./run-ledger.ts";

/** A turn that is only in the log. */
export interface DormantTurn {
  readonly journal: Journal;
  /** Whether it waits for its caller, so that nothing goes on in it until an answer comes. */
  readonly waiting: boolean;
  /** Until when it sleeps, in milliseconds since 1970, if it does and was let go of meanwhile. */
  readonly wakeAt?: number;
}

/** Whose turn it is, and who works for it elsewhere. */
export interface DormantPlace {
  readonly runId: RunId;
  readonly ledger: RunLedger;
  readonly environment: Environment;
  /** An agent elsewhere that an agent here may call. */
  foreignOf(name: string): Foreign | undefined;
}

/** Ends what the log has open of a turn that is not in memory: says so, and tells those elsewhere who still work for it. */
export function giveUpDormant(
  { runId, ledger: { recorder }, environment, foreignOf }: DormantPlace,
  requestId: RequestId,
  { openCalls, foreign, outcomes }: Journal,
): void {
  cancelLogged(recorder, { runId, requestId }, deepestFirst(openCalls.values()));
  for (const [scope, { agent, state }] of foreign) {
    if (outcomes.has(scope as CallId)) continue;
    const abandon = (): void => foreignOf(agent)?.abandon(state.kept, environment);
    // The run hears of a failed commit by itself.
    recorder.committed().then(abandon, () => {});
  }
}
