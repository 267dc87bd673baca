import type { CallId, RequestId, RunId } from "../protocol/ids.ts";
import { cancelLogged, deepestFirst } from "./calls-ahead.ts";
import { ForeignAhead } from "./foreign-ahead.ts";
import type { ForeignAheadOptions } from "./foreign-ahead.ts";
import type { Journal } from "./journal.ts";

/** A turn that is only in the log. */
export interface DormantTurn {
  readonly journal: Journal;
  /** Whether it waits for its caller, so that nothing goes on in it until an answer comes. */
  readonly waiting: boolean;
  /** Until when it sleeps, in milliseconds since 1970, if it does and was let go of meanwhile. */
  readonly wakeAt?: number;
}

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
