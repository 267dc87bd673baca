import type { ArtifactId, CallId, RequestId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";

/** A request as the log keeps it from its acceptance on. */
export interface AcceptedRequest {
  readonly requestId: RequestId;
  readonly agent: string;
  readonly request: TurnRequest;
  /** The agents of this server that are among its callers, once for each of their turns. */
  readonly callers?: readonly string[];
  /** Milliseconds since 1970. */
  readonly acceptedAt: number;
}

/** A machine agent after a transition, and the calls that it has open by what they stand for in it. */
export interface MachineState {
  readonly snapshot: Json;
  readonly waits: { readonly [stateId: string]: CallId };
  readonly timers: readonly MachineTimer[];
  readonly promises: { readonly [childId: string]: CallId };
}

/** A delayed event of a machine. */
export interface MachineTimer {
  readonly callId: CallId;
  readonly ms: number;
  /** The id by which the machine cancels it. */
  readonly id: string;
  readonly event: JsonObject;
}

/** What is known when a turn is continued; all of it is forgotten once the turn makes progress. */
export interface ContinuedStart {
  /** The starts that count against the turn, this one included. One counts if the process died while nothing else ran. */
  readonly count: number;
  /** How often the process has died since the turn last made progress, whatever turn ended it. */
  readonly deaths?: number;
  /** How many turns run until this one makes progress, this one included; absent where any number may. */
  readonly among?: number;
  /** The attempts of calls that the last start made do not count: it may have been another turn that ended the process. */
  readonly spared?: true;
}

/** The journal entries of the runtime: what the log must hold although no client sees it. */
export type RecordBody =
  /** A request was taken; its turn may start much later. */
  | { readonly type: "Accepted"; readonly accepted: AcceptedRequest }
  /** A turn is about to be continued after a crash or a long sleep. */
  | ({ readonly type: "RecoveryStarted"; readonly request_id: RequestId } & ContinuedStart)
  /** The turns are more now that run beside a turn that has not made progress since it was continued. */
  | { readonly type: "Accompanied"; readonly request_id: RequestId }
  /** The process let go of a running turn in good order; the next recovery is not counted. */
  | { readonly type: "Released"; readonly request_id: RequestId }
  /** A turn sleeps until a time. */
  | { readonly type: "Sleep"; readonly call_id: CallId; readonly ms: number; readonly until: number }
  /** A sleep is over. */
  | { readonly type: "Woke"; readonly call_id: CallId }
  | { readonly type: "Now"; readonly scope: string; readonly value: number }
  | { readonly type: "Random"; readonly scope: string; readonly value: number }
  /** The code that made a call follows its events. */
  | { readonly type: "Iterated"; readonly call_id: CallId }
  /** Parallel branches begin. */
  | { readonly type: "All"; readonly call_id: CallId; readonly branches: number }
  /** A file is about to be stored. */
  | {
      readonly type: "Artifact";
      readonly call_id: CallId;
      readonly artifact_id: ArtifactId;
      readonly name: string;
      readonly mime_type: string;
    }
  /** The state of a machine agent after a transition. */
  | { readonly type: "MachineState"; readonly scope: string; readonly state: MachineState }
  /** How far a call has come whose work is done elsewhere, together with the events that came with it. */
  | {
      readonly type: "RemoteCursor";
      readonly scope: string;
      readonly agent: string;
      readonly state: RemoteCursor;
    }
  /** An agent's memory of the run; with a call id, staged by a child until the turn succeeds. */
  | {
      readonly type: "MemoryCommitted";
      readonly agent: string;
      readonly value: Json;
      readonly call_id?: CallId;
    }
  /** A call of an agent that shares its memory of the run begins; others of that agent wait until it has ended. */
  | { readonly type: "MemoryTaken"; readonly agent: string; readonly call_id: CallId }
  /** A call of an agent that is configured, and how: without arguments, as at the call of it before. */
  | {
      readonly type: "Configured";
      readonly call_id: CallId;
      readonly agent: string;
      readonly args?: JsonObject;
    }
  /** The run began as a copy of another's history, with so many turns. */
  | { readonly type: "Forked"; readonly turns: number }
  /** The configuration of an agent, or of a run. */
  | { readonly type: "ConfigRecorded"; readonly version: number; readonly args: JsonObject };
