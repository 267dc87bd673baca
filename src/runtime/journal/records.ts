import type { RecordPosition } from "../../ports/log-batch.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { TurnError, Usage } from "../../protocol/events/outcome-codes.ts";
import type { By, SenderRef, SupervisorStrategy } from "../../protocol/actors.ts";
import type { ArtifactId, CallId, RequestId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { WatchingActor } from "../agent/watchers.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";

/** An accepted request as stored in the log. */
export interface AcceptedRequest {
  readonly requestId: RequestId;
  readonly agent: string;
  readonly request: TurnRequest;
  /** The local agents among its callers, once for each of their turns; without actors that have keys. */
  readonly callers?: readonly string[];
  /** The actor that sent it. */
  readonly sender?: SenderRef;
  /** The call of the sender that waits for the answer; absent if none does. */
  readonly callId?: CallId;
  /** Milliseconds since 1970. */
  readonly acceptedAt: number;
  /** Whose request it is, which is the owner of its run; absent for `default`. */
  readonly owner?: string;
  /** Who made it; absent if no principal did. */
  readonly by?: By;
  /** What becomes of it if its turn fails; absent if its sender supervises nothing. */
  readonly supervise?: SupervisorStrategy;
  /** Set if it says that an actor has failed whose failures are those of this one, with the error. */
  readonly escalated?: TurnError;
}

/**
 * The state of a machine agent after a transition, with its open calls by their role in the machine. Promises have the
 * ids of their actors below the machine as name, joined by `/`.
 */
export interface MachineState {
  readonly snapshot: Json;
  readonly waits: { readonly [stateId: string]: CallId };
  readonly timers: readonly MachineTimer[];
  readonly promises: { readonly [path: string]: CallId };
  /** A digest of the chart and of the names in its context; absent in older logs. */
  readonly shape?: string;
  /** The version of the machine, if it has one. */
  readonly version?: string;
}

/** A delayed event of a machine. */
export interface MachineTimer {
  readonly callId: CallId;
  readonly ms: number;
  /** The id by which the machine can cancel it. */
  readonly id: string;
  readonly event: JsonObject;
  /** The actor that set it, by the ids below the machine; absent for the machine itself. */
  readonly source?: readonly string[];
  /** The actor that gets the event; absent for the machine itself. */
  readonly target?: readonly string[];
}

/** The crash history of a continued turn; it is cleared once the turn makes progress. */
export interface ContinuedStart {
  /** The starts that count against the turn, this one included. One counts if the process died in the trial after it. */
  readonly count: number;
  /** How often the process has died since the turn last made progress, during any turn. */
  readonly deaths?: number;
  /**
   * The number of turns that run until this one makes progress, including this one; absent if there is no
   * limit.
   */
  readonly among?: number;
  /** The attempts made by calls after the last start do not count: something else may have ended the process. */
  readonly spared?: true;
}

/**
 * What a completion was asked: what is new against an earlier prompt of the same agent. Secret values of its
 * configuration are not in it.
 */
export interface PromptRecord {
  readonly type: "Prompt";
  readonly call_id: CallId;
  /** Above 1 if changed code has asked something else after a crash. */
  readonly attempt: number;
  readonly agent: string;
  /** The call of the agent's handler; its scope for a turn. */
  readonly actor: CallId;
  /** The record with the earlier prompt; absent if this one is whole. */
  readonly base?: RecordPosition;
  /** The number of records that the prompt is made of, with this one. */
  readonly parts: number;
  /** How many messages of the earlier prompt come first. */
  readonly keep: number;
  /** The messages after those; `null` for one that was too long to keep. */
  readonly messages: readonly Json[];
  /** The other fields of the prompt that are new; an input of another form is one field without a name. */
  readonly fields: JsonObject;
  /** The digest of each field, also of those that are as in the earlier prompt. */
  readonly frame: { readonly [name: string]: string };
  /** The number of all messages, and their digest. */
  readonly count: number;
  readonly digest: string;
  /** Set if texts were cut. */
  readonly cut?: true;
}

/** What is needed to continue a turn that stands at a place of the log: the log before that is not read for it. */
export interface CheckpointRecord {
  readonly type: "Checkpoint";
  readonly request_id: RequestId;
  /** The newest event and record that it covers. */
  readonly at: RecordPosition;
  readonly journal: Json;
}

/** A request goes on in a next turn: what is before is not needed to run it. */
export interface ContinuedRecord {
  readonly type: "Continued";
  readonly request_id: RequestId;
  readonly operation: string;
  readonly input: Json;
  /** The version of the agent that continues it. */
  readonly agent_version?: string;
  /** The usage of the turns before. */
  readonly usage?: Usage;
  /** The run was forked in the next turn. */
  readonly forked?: boolean;
  /** The turn has failed, and the next one does the same again: when that was, in milliseconds since 1970. */
  readonly restarted?: number;
}

/** What a turn waits for: a message with one name, or with one of several, or what comes first of some entries. */
export interface AwaitedMessage {
  readonly name?: string;
  readonly names?: readonly string[];
  /** The entries of a select: the names of the messages of each; `null` for one that is no message. */
  readonly of?: { readonly [entry: string]: readonly string[] | null };
}

/** A turn has read messages, or a call has ended that waited for some. */
export interface ReceivedRecord {
  readonly type: "Received";
  readonly call_id: CallId;
  /** The ids of their events; none if the time of a `Receive` is over. */
  readonly ids: readonly number[];
  /** The name of the messages, if the turn asked for those that were unread. */
  readonly name?: string;
  /** The name of the message that ended a `Receive`; absent in older logs. */
  readonly from?: string;
  /** The entry of a select that came first, if that is no message. */
  readonly first?: string;
}

/** The names of the messages that a turn waits for. */
export function namesOf({ name, names, of }: AwaitedMessage): readonly string[] {
  if (of !== undefined) return Object.values(of).flatMap((entry) => entry ?? []);
  return names ?? (name === undefined ? [] : [name]);
}

/** The runtime's journal entries: data that the log needs but no client sees. */
export type RecordBody =
  /** A request was accepted; its turn may start much later. */
  | { readonly type: "Accepted"; readonly accepted: AcceptedRequest }
  /** A turn is about to continue after a crash or a long sleep. */
  | ({
      readonly type: "RecoveryStarted";
      readonly request_id: RequestId;
      /** Milliseconds since 1970. */
      readonly at?: number;
    } & ContinuedStart)
  /**
   * A turn is held back before its trial: if the process dies before its next start, something else has ended it. With
   * `over`, the process closes properly.
   */
  | { readonly type: "Held"; readonly request_id: RequestId; readonly over?: true }
  /** A turn has survived its trial without progress: more turns run beside it now. */
  | { readonly type: "Accompanied"; readonly request_id: RequestId }
  /**
   * The process released a running turn properly, at a time in milliseconds since 1970; without a time, the turn only
   * waits for something from outside. The next recovery does not count.
   */
  | { readonly type: "Released"; readonly request_id: RequestId; readonly at?: number }
  /** A turn sleeps until a time. */
  | { readonly type: "Sleep"; readonly call_id: CallId; readonly ms: number; readonly until: number }
  /** A sleep is over, or was canceled. */
  | { readonly type: "Woke"; readonly call_id: CallId; readonly canceled?: true }
  /** A step runs when the turn does not succeed. */
  | { readonly type: "Cleanup"; readonly call_id: CallId }
  /** Such a step has run; with the memory that the steps so far have set. */
  | {
      readonly type: "CleanedUp";
      readonly call_id: CallId;
      readonly error?: string;
      readonly memory?: Json;
    }
  /** A turn waits for a message, until a time if there is one. */
  | ({ readonly type: "Receive"; readonly call_id: CallId; readonly until?: number } & AwaitedMessage)
  | ReceivedRecord
  /** Unread messages are dropped, by the ids of their events: the mailbox has no room for them, or has newer ones. */
  | { readonly type: "Dropped"; readonly ids: readonly number[] }
  /** The actors that watch the run, which it has from the run before. */
  | { readonly type: "Watchers"; readonly watchers: readonly WatchingActor[] }
  /** A call waits for a slot of its tool or model. */
  | { readonly type: "Queued"; readonly call_id: CallId }
  /** A call that waited has its slot: from now on its outcome is unknown after a crash. */
  | {
      readonly type: "Begun";
      readonly call_id: CallId;
      /** Its deadline, if that began anew because the call has waited for a budget. */
      readonly expires_at?: string;
    }
  /** The budget of the run was raised. */
  | { readonly type: "Raised"; readonly unit: Budget["unit"]; readonly amount: number }
  | { readonly type: "Now"; readonly scope: string; readonly value: number }
  | { readonly type: "Random"; readonly scope: string; readonly value: number }
  /** A turn came to a patch for the first time with code that has it. */
  | { readonly type: "Patched"; readonly scope: string; readonly id: string }
  /** The code that made a call iterates its events. */
  | { readonly type: "Iterated"; readonly call_id: CallId }
  /** Parallel branches start. */
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
  /** The progress of a remote call, committed together with its events. */
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
  /** A call of an agent with shared run memory starts; other calls of that agent wait until it has ended. */
  | { readonly type: "MemoryTaken"; readonly agent: string; readonly call_id: CallId }
  /** The configuration of a called agent; without arguments, the same as for its previous call. */
  | {
      readonly type: "Configured";
      readonly call_id: CallId;
      readonly agent: string;
      readonly args?: JsonObject;
    }
  | PromptRecord
  /** A turn ends, and the next one of its request begins with this operation. */
  | ContinuedRecord
  | CheckpointRecord
  /** The run started as a copy of another's history with this many turns. */
  | { readonly type: "Forked"; readonly turns: number; readonly by?: By }
  /** The run belongs to a schedule with these times, which began at this time, in milliseconds since 1970. */
  | { readonly type: "Scheduled"; readonly text: string; readonly since: number }
  /** The configuration of an agent, or of a run; `id` is that of the change. */
  | {
      readonly type: "ConfigRecorded";
      readonly version: number;
      readonly args: JsonObject;
      readonly id?: string;
      readonly by?: By;
    };
