import { AgentError } from "../../errors.ts";
import type { LastTime, NewSchedule } from "../journal/stored-schedule.ts";
import type { ErrorCode } from "../../errors.ts";
import type { By, Hops, SenderRef } from "../../protocol/actors.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Router, SendOptions } from "../../ports/router.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { RenewedActor, Reply } from "../replay/mail-port.ts";

/** Messages to the owner of a run; plain data, because they can come from another node. */
export type RunMessage =
  | {
      readonly kind: "turn";
      readonly accepted: AcceptedRequest;
      /** Whether its client chose the id, and so may send it to several nodes. */
      readonly hasOwnId?: boolean;
    }
  | PostMessage
  | PostsMessage
  /** Send a dead letter of the run again, or remove it. */
  | {
      readonly kind: "letter";
      readonly requestId: RequestId;
      readonly isDismissed: boolean;
      readonly by?: By;
    }
  /** Run an operation that only reads. */
  | { readonly kind: "read"; readonly accepted: AcceptedRequest }
  /** The answer of another actor to an ask of this one. */
  | ({ readonly kind: "reply" } & Reply)
  /** A fork of the run has taken its key. */
  | { readonly kind: "unnamed" }
  /** Send again what has not arrived: the replies and cancels of the run's outbox. */
  | { readonly kind: "redeliver" }
  | {
      readonly kind: "resume";
      /** Absent if the run is named instead. */
      readonly requestId?: RequestId;
      readonly waitId?: number;
      readonly resumeId?: string;
      readonly values: JsonObject;
      readonly by?: By;
      /** The roles of who answers. */
      readonly roles?: readonly string[];
    }
  | { readonly kind: "cancel"; readonly requestId: RequestId; readonly by?: By }
  /** End the turn that is held; the one of this request, if there is one. */
  | { readonly kind: "end"; readonly requestId?: RequestId; readonly by?: By }
  /** Have the actor take requests again that its supervisor has stopped. */
  | { readonly kind: "unstop"; readonly by?: By }
  | IncomingMessage
  | ScheduleMessage
  | ConfigureMessage
  | CreateMessage
  | ContinueMessage
  | UploadMessage
  | ForkMessage
  | RecoverMessage
  /** Remove what happened in the run up to a time, as far as its open turn does not need it. */
  | { readonly kind: "shorten"; readonly upTo: number }
  /** Remove the run; its owner releases it. */
  | { readonly kind: "remove"; readonly reason?: RemovalReason; readonly by?: By };

/**
 * Why the runtime itself removes a run. `retention` removes what has happened in it: the actor of a run with a key continues
 * in a new run first. `expired` removes the actor too. Neither removes unread messages, or the start of a schedule.
 * `erasure` also removes what the audit trail has of it.
 * `remains` removes what an interrupted copy or removal has left, but no run whose copy has ended since.
 */
export type RemovalReason = "retention" | "expired" | "erasure" | "remains";

/** A message for the agent of the run. */
export interface IncomingMessage {
  readonly kind: "message";
  readonly messageId: RequestId;
  /** Whether its client chose the id, and so may send it to several nodes. */
  readonly hasOwnId?: boolean;
  readonly agent: string;
  readonly name: string;
  readonly body: Json;
  readonly sender?: SenderRef;
  /** The key of the run, if it was sent by its key. */
  readonly key?: string;
  /** How many requests led to it without a caller that waits. */
  readonly hops?: Hops;
  /** The owner of the run; absent for `default`. */
  readonly owner?: string;
  readonly by?: By;
}

/** Several requests of one actor, accepted in their order; with the first that may be accepted later the rest is left. */
export interface PostsMessage {
  readonly kind: "posts";
  readonly items: readonly AcceptedRequest[];
}

/** A request of another actor; it is accepted once, however often it arrives. */
export interface PostMessage {
  readonly kind: "post";
  readonly accepted: AcceptedRequest;
  /** If true, its sender no longer wants it: it ends as canceled, also if it arrives only later. */
  readonly isCanceled?: boolean;
  /** If true, it is canceled at once if another request of the run is open. */
  readonly skipsIfBusy?: boolean;
}

/** Changes the schedules of a run, which is created for it. */
export interface ScheduleMessage {
  readonly kind: "schedules";
  readonly agent: string;
  /** The key of the run, if it was sent by its key. */
  readonly key?: string;
  /** The owner of the run; absent for `default`. */
  readonly owner?: string;
  readonly by?: By;
  readonly change: ScheduleChange;
}

/**
 * `define`: the definition of the agent has it now. `set`: a client makes or replaces it. `look`: its time may have come by the clock of the
 * sender.
 */
export type ScheduleChange =
  | { readonly type: "define"; readonly name: string; readonly now: number }
  | { readonly type: "set"; readonly id: string; readonly schedule: NewSchedule }
  | { readonly type: "pause" | "resume" | "remove"; readonly id: string }
  | LookChange;

export interface LookChange {
  readonly type: "look";
  readonly id: string;
  readonly now: number;
  /** Why its request would not be taken, if so. */
  readonly error?: LastTime["error"];
}

/** Continue the open requests of the run. */
export interface RecoverMessage {
  readonly kind: "recover";
  /** Whether the wake time of its turn has passed. A parked turn continues only then. */
  readonly isDue?: boolean;
  /** Whether a turn that is held is tried again. */
  readonly isRetry?: boolean;
  /** Who tries it again. */
  readonly by?: By;
}

/** Change the configuration of a run or of an agent. */
export interface ConfigureMessage {
  readonly kind: "configure";
  /** Identifies the change, so that it is made once. */
  readonly id: string;
  readonly args: JsonObject;
  /** If true, the configuration is only checked. */
  readonly isTrial?: boolean;
  readonly by?: By;
}

/** Create a run without a turn. */
export interface CreateMessage {
  readonly kind: "create";
  readonly agent: string;
  readonly input: Json;
  readonly metadata: JsonObject;
  readonly key?: string;
  /** Absent for `default`. */
  readonly owner?: string;
  readonly by?: By;
}

/** Create the run in which the actor of a renewed run continues, unless it exists. */
export interface ContinueMessage extends RenewedActor {
  readonly kind: "continue";
}

/** Create a run with the history of another, up to an event. */
export interface ForkMessage {
  readonly kind: "fork";
  readonly source: RunId;
  readonly after: number;
  /** The question before which the copy of the open turn ends, and the request of that copy. */
  readonly turn?: { readonly waitId: number; readonly requestId: RequestId };
  /** The key that the new run takes from the other one. */
  readonly key?: string;
  readonly by?: By;
}

/** A client has stored a file in the run. */
export interface UploadMessage {
  readonly kind: "uploaded";
  readonly agent: string;
  readonly artifact: {
    readonly artifactId: ArtifactId;
    readonly name: string;
    readonly mimeType: string;
    readonly sizeBytes: number;
    readonly url: string;
  };
}

/** The refusal of a request, as plain data. */
export interface PostRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: AgentError["details"];
}

/** The owner's reply, sent after the result is committed. */
export interface RunReceipt {
  readonly requestId?: RequestId;
  readonly runId: RunId;
  readonly replayed: boolean;
  /** The encoded event that acknowledges the message, if it exists already. */
  readonly event?: string;
  /** The id of the event before the part of the log that answers. */
  readonly after: number;
  /** What became of each of several requests, as far as they were tried: `null` if it was accepted, or its refusal. */
  readonly results?: readonly (PostRefusal | null)[];
}

/** The error for a message of a kind that only another version has; its sender may send it again after the update. */
export function unknownMessage(runId: RunId, message: never): AgentError {
  const { kind } = message as { readonly kind?: unknown };
  return new AgentError(
    "unavailable",
    `run ${runId} is on a node that does not know the message ${String(kind)}`,
    { hint: "update all nodes to one version", retryAfterS: 1 },
  );
}

/** Sends a message to the owner of a run. */
export async function sendMessage(
  router: Router,
  runId: RunId,
  message: RunMessage,
  options?: SendOptions,
): Promise<RunReceipt> {
  return (await router.send(runId, message as unknown as Json, options)) as unknown as RunReceipt;
}

/** Creates the reply to a message that was not answered before. */
export function toRunReceipt(
  runId: RunId,
  after: number,
  {
    requestId,
    event,
  }: { readonly requestId?: RequestId | undefined; readonly event?: string | undefined } = {},
): RunReceipt {
  return {
    runId,
    replayed: false,
    after,
    ...(requestId !== undefined && { requestId }),
    ...(event !== undefined && { event }),
  };
}
