import type { CallId } from "../../protocol/ids.ts";
import type { PeerClaim } from "../../shared/peer-claim.ts";
import type { Json } from "../../protocol/json.ts";

/** The saved state of a remote call, to resume it after a crash. */
export interface RemoteState {
  /** The remote ids of the request and its run; absent until the server has accepted the request. */
  readonly requestId?: string;
  readonly runId?: string;
  /** The id of the newest remote event in our log; -1 if there is none. */
  readonly cursor: number;
  /** Whether the request only waits for answers. */
  readonly parked: boolean;
  /** The open remote calls: remote id, local id, name. */
  readonly calls: readonly OpenThere[];
  /** The open remote completions: remote id, local id. */
  readonly completions: readonly (readonly [string, CallId])[];
  /** The open waits: local id, remote id. */
  readonly waits: readonly (readonly [CallId, number])[];
  /** For whom the request was made there, if its server was told. */
  readonly principal?: PeerClaim;
  /** The remote ids of the request's files. */
  readonly attachments: readonly string[];
}

export type OpenThere = readonly [there: string, here: CallId, name: string];

/** The state before the request is sent. */
const newRemoteState: RemoteState = {
  cursor: -1,
  parked: false,
  calls: [],
  completions: [],
  waits: [],
  attachments: [],
};

/** Encodes the state for the journal. */
export function encodeState(state: RemoteState): Json {
  return state as unknown as Json;
}

/** Decodes the state from the journal. */
export function decodeState(kept: Json | undefined): RemoteState {
  return kept === undefined ? newRemoteState : (kept as unknown as RemoteState);
}
