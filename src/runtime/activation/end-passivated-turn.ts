import type { TurnError } from "../../protocol/events/events.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Agent } from "../agent/agent.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import { cancelLogged, deepestFirst } from "../turn/logged-calls.ts";
import { UnreplayedRemoteWork } from "../turn/unreplayed-remote-work.ts";

/** The turn to end. */
export interface PassivatedTurnAddress {
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The scope of the turn's own handler. */
  readonly root: CallId;
}

/** Ends the open calls of a turn that is only in the log: records their end and abandons their remote work. */
export function endPassivatedTurn(
  context: RunContext,
  recorder: Recorder,
  { root, ...address }: PassivatedTurnAddress,
  journal: TurnJournal,
): void {
  cancelLogged(recorder, address, deepestFirst(journal.openCalls.values()));
  new UnreplayedRemoteWork(context, journal, recorder).giveUp(root);
}

/** The reason why the current agent cannot continue a turn; `undefined` if it can. */
export function versionMismatch(
  name: string,
  agent: Agent | undefined,
  { agentVersion: before }: TurnJournal,
): TurnError | undefined {
  if (agent === undefined) return { code: "interrupted", message: `agent ${name} is no longer served` };
  const { version: now, compatible } = agent;
  if (before === now || (before !== undefined && compatible.includes(before))) return undefined;
  const versions = `from version ${before ?? "(none)"} to ${now ?? "(none)"}`;
  return {
    code: "version_mismatch",
    message: `agent ${name} has changed ${versions} since the turn started`,
  };
}
