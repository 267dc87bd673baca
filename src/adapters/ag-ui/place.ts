import type { RequestId, RunId } from "../../protocol/ids.ts";

/** Where a run of this protocol begins in its request. */
export type RunBegin =
  /** With the request itself. */
  | { readonly type: "start" }
  /** With an event: an answer, or the expiry of a question. */
  | { readonly type: "event"; readonly id: number }
  /** With the cancel of the request. */
  | { readonly type: "cancel" };

/** A run of this protocol: a request from one of its moments until the agent asks or has ended. */
export interface SegmentPlace {
  readonly threadId: string;
  /** Its name, as its client has it. */
  readonly runId: string;
  readonly agent: string;
  /** The run of ours, which is the thread. */
  readonly thread: RunId;
  readonly requestId: RequestId;
  readonly begin: RunBegin;
  /** The name of the run in the ids of its answers. */
  readonly own: string;
  /** The messages of its client without those of the run, for a client that has seen a part of the run and reads it again. */
  readonly before?: readonly object[];
}

/** The id of what an event of a request begins: a message, a tool call, a sub-agent, an interrupt. */
export function toWireId(requestId: RequestId, event: number): string {
  return `${requestId}~${event}`;
}

/** The id of the answer that a run gives to a question. */
export function toResumeId(own: string, waitId: number): string {
  return `${own}_${waitId}`;
}

/** Whether an answer was given by a run. */
export function isAnswerOf(own: string, answerId: string | undefined): boolean {
  return answerId?.startsWith(`${own}_`) === true && /^\d+$/.test(answerId.slice(own.length + 1));
}
