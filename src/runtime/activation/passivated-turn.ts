import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import { cancelLogged, deepestFirst } from "../turn/unreplayed-calls.ts";
import { UnreplayedRemoteWork } from "../turn/unreplayed-remote-work.ts";
import type { UnreplayedRemoteWorkOptions } from "../turn/unreplayed-remote-work.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";

/** Whose turn it is. */
export interface PassivatedTurnContext extends UnreplayedRemoteWorkOptions {
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The scope of the turn's own handler. */
  readonly root: CallId;
}

/** Ends what the log has open of a turn that is not in memory: says so, and tells those elsewhere who still work for it. */
export function endPassivatedTurn({ root, ...place }: PassivatedTurnContext, journal: TurnJournal): void {
  cancelLogged(place.recorder, place, deepestFirst(journal.openCalls.values()));
  new UnreplayedRemoteWork(journal, place).giveUp(root);
}
