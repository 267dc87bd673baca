import type { FinishReason, TurnError } from "../../protocol/events/outcome-codes.ts";
import { FINISH_REASONS } from "../../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Schema } from "./agent.ts";
import { handwrittenSchema } from "./definition/handwritten-schema.ts";

/** What an actor is told when a turn of an actor that it watches has ended. */
export interface Ended {
  readonly agent: string;
  /** The key of the other actor, if it has one. */
  readonly key?: string;
  readonly run_id: RunId;
  readonly request_id: RequestId;
  readonly finish_reason: FinishReason;
  /** Why it failed, if it did. */
  readonly error?: TurnError;
}

/** The name of the message or operation by which an actor is told that a turn has ended. */
export const ENDED = "ended";

/** The schema of what `turn.watch` brings, for `messages: { ended }` or as the input of an operation `ended`. */
export const ended: Schema<Ended, Ended> = handwrittenSchema<Ended, Ended>(
  (value) =>
    isEnded(value)
      ? { value }
      : { issues: [{ message: "must say which turn has ended, and how", path: [] }] },
  {
    type: "object",
    properties: {
      agent: { type: "string" },
      key: { type: "string" },
      run_id: { type: "string" },
      request_id: { type: "string" },
      finish_reason: { enum: [...FINISH_REASONS] },
      error: {
        type: "object",
        properties: { code: { type: "string" }, message: { type: "string" } },
        required: ["code", "message"],
      },
    },
    required: ["agent", "run_id", "request_id", "finish_reason"],
  },
);

function isEnded(value: unknown): value is Ended {
  if (!isObject(value)) return false;
  const { agent, run_id: runId, request_id: requestId, finish_reason: reason } = value as Partial<Ended>;
  const isAddress = typeof agent === "string" && typeof runId === "string" && typeof requestId === "string";
  return isAddress && FINISH_REASONS.some((each) => each === reason);
}
