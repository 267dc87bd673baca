import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";

/** What has to be known of a call that is under way elsewhere, to go on with it after a crash. */
export interface RemoteState {
  /** The ids that the other side has for the request and its run; absent until it has taken the request. */
  readonly requestId?: string;
  readonly runId?: string;
  /** The newest of its events that is in our log, -1 for none. */
  readonly cursor: number;
  /** Whether all there is to do is to wait for answers. */
  readonly parked: boolean;
  /** The calls that are open there: their id there, their id here, their name. */
  readonly calls: readonly OpenThere[];
  /** The completions that are open there: their id there, their id here. */
  readonly completions: readonly (readonly [string, CallId])[];
  /** The questions that are open: their id here, and how the other side knows them. */
  readonly waits: readonly (readonly [CallId, number])[];
  /** The ids that the files of the request have there. */
  readonly attachments: readonly string[];
}

export type OpenThere = readonly [there: string, here: CallId, name: string];

/** A call that has not begun. */
const newRemoteState: RemoteState = {
  cursor: -1,
  parked: false,
  calls: [],
  completions: [],
  waits: [],
  attachments: [],
};

/** The state as the journal keeps it. */
export function toKept(state: RemoteState): Json {
  return state as unknown as Json;
}

/** The state that the journal kept. */
export function fromKept(kept: Json | undefined): RemoteState {
  return kept === undefined ? newRemoteState : (kept as unknown as RemoteState);
}
