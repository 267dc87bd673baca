import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { AcceptedRequest } from "../journal/records.ts";

/** What the owner of a run can be told; plain data, since it may come from another node. */
export type Message =
  | { readonly kind: "turn"; readonly accepted: AcceptedRequest }
  | {
      readonly kind: "resume";
      /** Absent when the run was named instead. */
      readonly requestId?: RequestId;
      readonly waitId?: number;
      readonly resumeId?: string;
      readonly values: JsonObject;
    }
  | { readonly kind: "cancel"; readonly requestId: RequestId }
  | ConfigureMessage
  | CreateMessage
  | UploadMessage
  | ForkMessage
  | RecoverMessage
  /** The run is to be removed, and let go of by its owner. */
  | { readonly kind: "remove" };

/** The run is to continue with what the log has open in it. */
export interface RecoverMessage {
  readonly kind: "recover";
  /** Whether no other turn was under way when the process died. */
  readonly alone?: boolean;
}

/** Changes the configuration of a run, or of an agent. */
export interface ConfigureMessage {
  readonly kind: "configure";
  readonly args: JsonObject;
  /** Says that it is only to be checked. */
  readonly isTrial?: boolean;
}

/** Begins a run without a turn. */
export interface CreateMessage {
  readonly kind: "create";
  readonly agent: string;
  readonly input: Json;
  readonly metadata: JsonObject;
  readonly alias?: string;
}

/** Begins a run with the history of another, up to an event. */
export interface ForkMessage {
  readonly kind: "fork";
  readonly source: RunId;
  readonly after: number;
}

/** A client has stored a file with the run. */
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

/** What the owner answers, once it is in the log. */
export interface Reply {
  readonly requestId?: RequestId;
  readonly runId: RunId;
  readonly replayed: boolean;
  /** The encoded event that acknowledges the message, where there is one already. */
  readonly event?: string;
  /** The id of the event before the part of the log that answers. */
  readonly after: number;
}

/** Makes the answer to a message that was not answered before. */
export function toReply(
  runId: RunId,
  after: number,
  {
    requestId,
    event,
  }: { readonly requestId?: RequestId | undefined; readonly event?: string | undefined } = {},
): Reply {
  return {
    runId,
    replayed: false,
    after,
    ...(requestId !== undefined && { requestId }),
    ...(event !== undefined && { event }),
  };
}
