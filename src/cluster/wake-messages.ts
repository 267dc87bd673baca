import { AgentError } from "../errors.ts";
import type { RunWake } from "../ports/router.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";

/** What one node tells another about the runs that it follows, or that it has changed. */
export type WakeMessage = ChangedRuns | Follows;

interface FromTo {
  /** The node that sends it, and the one that it is for: another one may have the address by now. */
  readonly from: string;
  readonly to: string;
}

/** Runs that the sender has changed and the receiver follows. */
export interface ChangedRuns extends FromTo {
  readonly type: "changes";
  readonly changes: readonly RunWake[];
}

/** The runs that are followed on the node of the sender. */
export interface Follows extends FromTo {
  readonly type: "follows";
  /** Grows with each message of a node, so that one that is late is recognized. */
  readonly number: number;
  /** The message whose state this one changes; `undefined` if it has the whole state itself. */
  readonly after: number | undefined;
  /** Whether all runs are followed. */
  readonly all: boolean;
  readonly add: readonly RunId[];
  readonly drop: readonly RunId[];
  /** Whether the sender does not know what the receiver follows. */
  readonly asks: boolean;
}

/** The answer to a message. */
export interface WakeAnswer {
  /** Whether the receiver has taken it. If not, the sender has to tell all that it follows. */
  readonly taken: boolean;
  /** Of the added runs, those that the receiver has changed lately: perhaps after the sender has read them. */
  readonly changed: readonly RunId[];
}

/** Whether a message of another node is one of these. */
export function isWakeMessage(data: Json): boolean {
  return typeof data === "object" && data !== null && "wakes" in data;
}

/** Converts a message to plain data. */
export function wakeMessageToWire(message: WakeMessage): Json {
  const { from, to } = message;
  if (message.type === "changes")
    return { wakes: { from, to, changes: message.changes.map(({ epoch, runId }) => [epoch, runId]) } };
  const { number, after = null, all, add, drop, asks } = message;
  return { wakes: { from, to, number, after, all, add, drop, asks } };
}

/** Reads a message; `invalid_request` for any other data. */
export function parseWakeMessage(data: Json): WakeMessage {
  const { from, to, changes, number, after, all, add, drop, asks } = toObject(toObject(data)["wakes"]);
  if (typeof from !== "string" || typeof to !== "string") throw notUnderstood();
  if (changes !== undefined) return { type: "changes", from, to, changes: toList(changes).map(toWake) };
  if (typeof number !== "number") throw notUnderstood();
  return {
    type: "follows",
    from,
    to,
    number,
    after: typeof after === "number" ? after : undefined,
    all: all === true,
    add: toIds(add),
    drop: toIds(drop),
    asks: asks === true,
  };
}

/** Converts an answer to plain data. */
export function wakeAnswerToWire({ taken, changed }: WakeAnswer): Json {
  return { taken, changed };
}

/** Reads an answer; one that is not understood is that of a node which has taken nothing. */
export function parseWakeAnswer(data: Json): WakeAnswer {
  const { taken, changed } = toObject(data);
  return { taken: taken === true, changed: Array.isArray(changed) ? toIds(changed) : [] };
}

function toObject(data: Json | undefined): JsonObject {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as JsonObject) : {};
}

function toList(data: Json | undefined): readonly Json[] {
  if (Array.isArray(data)) return data as readonly Json[];
  throw notUnderstood();
}

function toIds(data: Json | undefined): readonly RunId[] {
  return toList(data).map(String);
}

function toWake(data: Json): RunWake {
  const [epoch, ...ids] = toList(data);
  const [runId = ""] = toIds(ids);
  return { epoch: Number(epoch), runId };
}

function notUnderstood(): AgentError {
  return new AgentError("invalid_request", "what another node says of followed runs is not understood");
}
