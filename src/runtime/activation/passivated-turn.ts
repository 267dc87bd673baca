import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import { cancelLogged, deepestFirst } from "../turn/unreplayed-calls.ts";
import { ForeignAhead } from "../turn/unreplayed-remote-work.ts";
import type { ForeignAheadOptions } from "../turn/unreplayed-remote-work.ts";
import type { Journal } from "../replay/turn-journal.ts";

/** Whose turn it is. */
export interface DormantPlace extends ForeignAheadOptions {
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The scope of the turn's own handler. */
  readonly root: CallId;
}

/** Ends what the log has open of a turn that is not in memory: says so, and tells those elsewhere who still work for it. */
export function giveUpDormant({ root, ...place }: DormantPlace, journal: Journal): void {
  cancelLogged(place.recorder, place, deepestFirst(journal.openCalls.values()));
  new ForeignAhead(journal, place).giveUp(root);
}
