import type { JsonObject } from "../../protocol/json.ts";

/** The status of a response, a message or a content. */
export type Status =
  | "created"
  | "in_progress"
  | "completed"
  | "canceled"
  | "failed"
  | "rejected"
  | "unknown"
  | "queued"
  | "incomplete";

/** A status after which nothing changes. */
export type EndStatus = "completed" | "canceled" | "failed" | "rejected" | "unknown";

/** Why something failed. */
export interface ObjectError {
  readonly code: string;
  readonly message: string;
}

/** Token counts, added over completions. */
export type UsageObject = { readonly [name: string]: number };

/** The fields of every object. `sequence_number` counts the objects of one response from 0, of all kinds. */
interface StreamedObject<Name extends string> {
  readonly sequence_number: number | null;
  readonly object: Name;
  readonly status: Status;
  readonly error: ObjectError | null;
}

/** The answer of an agent to one request. */
export interface ResponseObject extends StreamedObject<"response"> {
  readonly id: string;
  /** In seconds since 1970; with milliseconds behind the point if the builder was asked for them. */
  readonly created_at: number | null;
  readonly completed_at: number | null;
  readonly output: readonly MessageObject[] | null;
  readonly usage: UsageObject | null;
  readonly session_id: string | null;
}

/** One step of a response: a text, a thought, a tool call, the output of one, a question. */
export interface MessageObject extends StreamedObject<"message"> {
  readonly id: string;
  readonly type: string;
  readonly role: string | null;
  readonly content: readonly ContentObject[] | null;
  /** The code of an error. */
  readonly code: string | null;
  /** The text of an error. */
  readonly message: string | null;
  readonly usage: UsageObject | null;
  readonly metadata: JsonObject | null;
}

/** What a content says, without its place in a stream. */
export type ContentValue =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "refusal"; readonly refusal: string }
  | { readonly type: "data"; readonly data: JsonObject }
  | { readonly type: "image"; readonly image_url: string }
  | { readonly type: "video"; readonly video_url: string }
  | { readonly type: "audio"; readonly data: string; readonly format: string | null }
  | {
      readonly type: "file";
      readonly file_url: string | null;
      readonly file_id: string | null;
      readonly filename: string | null;
      readonly file_data: string | null;
    };

/** A part of a message. A delta adds to the content with the same index; any other object replaces it. */
export type ContentObject = StreamedObject<"content"> & {
  readonly index: number;
  readonly delta: boolean;
  readonly msg_id: string;
} & ContentValue;

/** Any object of a stream. */
export type AgentScopeObject = ResponseObject | MessageObject | ContentObject;
