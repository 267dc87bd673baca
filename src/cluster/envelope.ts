import { AgentError, toAgentError } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";
import { LruMap } from "../shared/lru-map.ts";

/** A message for a run, as one node sends it to another. */
export interface Envelope {
  /** The same for each repetition. */
  readonly id: string;
  readonly runId: RunId;
  readonly message: Json;
  /** Whether it may have arrived before, at this node or at another one. */
  readonly isRepeated: boolean;
  /** The run that sends it, and its node. */
  readonly from?: { readonly runId: RunId; readonly node: string };
}

/** The answer to an envelope. */
export type EnvelopeAnswer =
  | { readonly type: "reply"; readonly reply: Json }
  | { readonly type: "error"; readonly error: AgentError }
  | MovedRun;

/** The run is on another node, or this one cannot take the message now. */
export interface MovedRun {
  readonly type: "moved";
  readonly owner?: string;
  /** Whether the message may have had its effect. */
  readonly isUncertain?: boolean;
  /** Why the message was not taken, if the node has said so. It stays on the node of the sender. */
  readonly error?: AgentError;
}

/** Converts an envelope to plain data. */
export function toWire({ id, runId, message, isRepeated, from }: Envelope): Json {
  const sender = from && { from: { run_id: from.runId, node: from.node } };
  return { id, run_id: runId, message, repeated: isRepeated, ...sender };
}

/** Reads an envelope; `invalid_request` for any other data. */
export function parseEnvelope(data: Json): Envelope {
  const { id, run_id: runId, message, repeated, from = null } = toObject(data);
  const { run_id: sender, node } = toObject(from);
  if (typeof id !== "string" || typeof runId !== "string" || message === undefined)
    throw new AgentError("invalid_request", "the message of another node has no id, run_id or message");
  return {
    id,
    runId,
    message,
    isRepeated: repeated === true,
    ...(typeof sender === "string" && typeof node === "string" && { from: { runId: sender, node } }),
  };
}

/** Converts an answer to plain data. */
export function answerToWire(answer: EnvelopeAnswer): Json {
  switch (answer.type) {
    case "reply":
      return { reply: answer.reply };
    case "error":
      return { error: errorToWire(answer.error) };
    case "moved": {
      const { owner, isUncertain = false } = answer;
      return { moved: { ...(owner !== undefined && { owner }), uncertain: isUncertain } };
    }
    default: {
      const never: never = answer;
      return never;
    }
  }
}

/** Reads an answer; `internal` for any other data. */
export function parseAnswer(data: Json): EnvelopeAnswer {
  const { reply, error, moved } = toObject(data);
  if (reply !== undefined) return { type: "reply", reply };
  if (error !== undefined) return { type: "error", error: errorFromWire(toObject(error)) };
  if (moved === undefined) throw new AgentError("internal", "the answer of another node is not understood");
  const { owner, uncertain } = toObject(moved);
  return { type: "moved", isUncertain: uncertain === true, ...(typeof owner === "string" && { owner }) };
}

/** What another node may know of an error: what a client may. */
function errorToWire(thrown: unknown): Json {
  const { code, message, details } = toAgentError(thrown);
  // Through JSON, because facts can contain anything.
  return JSON.parse(JSON.stringify({ code, message, details })) as Json;
}

function errorFromWire({ code, message, details }: JsonObject): AgentError {
  const text = typeof message === "string" ? message : "another node has failed";
  return new AgentError(code as ErrorCode, text, toObject(details ?? {}));
}

function toObject(data: Json): JsonObject {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as JsonObject) : {};
}

/** The most answers that are kept. */
const KEPT = 10_000;

/** The most characters of all kept answers: one contains the event that acknowledges its message, with the input. */
const KEPT_LENGTH = 16 * 1_048_576;

/** The newest messages of other nodes and their answers: a message that arrives twice is handled once. */
export class RecentAnswers {
  /** The messages that are being handled. The transport limits their number. */
  readonly #underWay = new Map<string, Promise<EnvelopeAnswer>>();
  // A Map keeps the order of insertion, so the oldest is first.
  readonly #answers = new Map<string, { readonly answer: EnvelopeAnswer; readonly length: number }>();
  #length = 0;
  /** The messages that arrived while this node did not know whether they are old. */
  readonly #seen = new LruMap<string, true>(KEPT);

  /** Whether a message arrives for the first time at a node that was away. */
  isFirst(id: string): boolean {
    if (this.#seen.delete(id)) return false;
    this.#seen.set(id, true);
    return true;
  }

  /** Handles a message, or returns the answer to an earlier message with its id. */
  async once(id: string, handle: () => Promise<EnvelopeAnswer>): Promise<EnvelopeAnswer> {
    const known = this.#answers.get(id)?.answer ?? this.#underWay.get(id);
    if (known) return known;
    const work = handle();
    this.#underWay.set(id, work);
    try {
      const answer = await work;
      if (isFinal(answer)) this.#keep(id, answer);
      return answer;
    } finally {
      this.#underWay.delete(id);
    }
  }

  #keep(id: string, answer: EnvelopeAnswer): void {
    const length = answer.type === "reply" ? JSON.stringify(answer.reply).length : 0;
    this.#answers.set(id, { answer, length });
    this.#length += length;
    for (const [oldest, kept] of this.#answers) {
      if (this.#answers.size <= KEPT && this.#length <= KEPT_LENGTH) return;
      this.#answers.delete(oldest);
      this.#length -= kept.length;
    }
  }
}

/** Whether a message was handled. One that was not may be handled at its next arrival. */
function isFinal(answer: EnvelopeAnswer): boolean {
  return answer.type === "reply" || (answer.type === "error" && answer.error.code !== "unavailable");
}
