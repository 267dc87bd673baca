import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { ArtifactId, CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { CallDelivery, CallRecord, ScopeRecord } from "./turn-journal.ts";
import type { KeptTranscript } from "./transcript.ts";

/** What the log has of a turn up to a place, as far as it is needed to continue the turn: plain data, kept in a record. */
export interface KeptJournal {
  readonly calls: readonly CallRecord[];
  /** The calls that were attempted after the last start and have no outcome. */
  readonly tried: readonly CallId[];
  readonly scopes: readonly (readonly [path: string, scope: KeptScope])[];
  readonly deliveries: readonly CallDelivery[];
  readonly artifacts: readonly (readonly [ArtifactId, CallId])[];
  readonly staged: readonly (readonly [agent: string, value: Json])[];
  readonly holders: readonly (readonly [agent: string, callId: CallId])[];
  readonly configs: readonly (readonly [agent: string, config: JsonObject])[];
  readonly resumeIds: readonly string[];
  readonly isIterated: boolean;
  readonly lastResume: number;
  readonly usage: Usage;
  readonly agentVersion?: string;
  readonly isForked?: boolean;
}

/** A sequence of steps, with its transcript as plain data. */
export interface KeptScope extends Omit<ScopeRecord, "transcript"> {
  readonly transcript?: KeptTranscript;
}

/** The number of answers that are recognised when they arrive again. */
export const KEPT_ANSWERS = 1_000;
