import { toTimestamp } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Actor } from "./actor.ts";
import type { Schema } from "../agent/agent.ts";
import type { LiveWait } from "../scheduler/call-tree.ts";
import { openCall } from "./call.ts";
import { AgentError } from "../../errors.ts";
import type { Approval, Questions } from "../../protocol/events/events.ts";
import { EVENT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { addWait, expireWait, recordWait } from "../turn/turn-waits.ts";

/** The questions of a wait. */
export interface NewWait {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly questions: { readonly [key: string]: string };
  readonly schema: Schema<unknown> | undefined;
  readonly jsonSchema?: JsonObject;
  /** The call that is to be approved. */
  readonly approval?: Approval;
  /** When it ends without an answer, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Called when an answer comes after that time. Default: the wait ends by itself at that time. */
  readonly expire?: () => void;
}

/** Asks the caller of the turn. A restart does not reset the time limit. */
export function wait(caller: Actor, asked: NewWait): void {
  const { callId, logged, questions, schema, jsonSchema, approval } = asked;
  const { turn, speaker } = caller;
  const { journal } = turn;
  const { environment } = turn.context;
  const before = journal.waits.get(callId);
  // As with a sleep, a clock that was set back does not extend the time.
  const until = Math.min(before?.expiresAt ?? Infinity, asked.expiresAt ?? Infinity, LAST_MS);
  const hasEnd = until < LAST_MS;
  const call = openCall(caller, { callId, name: "wait", args: null, logged }, "wait", () => {});
  const waitId =
    before?.waitId ??
    recordWait(turn, speaker, {
      type: "WaitForInput",
      request_keys: questions,
      ...(jsonSchema && { schema: jsonSchema }),
      ...(approval && { approval }),
      ...(hasEnd && { expires_at: toTimestamp(until) }),
      call_id: callId,
    });
  const expire = asked.expire ?? ((): void => expireWait(turn, live));
  const live: LiveWait = {
    call,
    callId,
    waitId,
    questions,
    schema,
    ...(hasEnd && { expiresAt: until, expire }),
  };
  addWait(turn, live);
  if (!hasEnd || asked.expire !== undefined || turn.ended) return;
  call.whenClosed(environment.timer(Math.max(until - environment.now(), 0), expire));
}

/** Ends the wait of a call if its time limit has passed. Returns whether it has. */
export function expirePast({ turn }: Actor, callId: CallId): boolean {
  const live = turn.waits.get(callId);
  if (live === undefined || (live.expiresAt ?? Infinity) > turn.context.environment.now()) return false;
  expireWait(turn, live);
  return true;
}

/** The last time that a timestamp can have, in milliseconds since 1970. */
export const LAST_MS = 8.64e15;

/** Maximum number of values that one wait asks for. */
const QUESTIONS_LIMIT = 256;

/** The size of an event without its questions. */
const ADDRESS_BYTES = 4_096;

/** Throws `too_large` if there are too many questions for a wait or an event. */
export function checkQuestions(
  questions: Questions,
  schema: JsonObject | undefined,
  approval?: Approval,
): void {
  const texts: readonly unknown[] = Object.values(questions);
  if (texts.some((text) => typeof text !== "string"))
    throw new TypeError("turn.waitForInput needs a schema, or a text for each requested value");
  const count = texts.length;
  if (count > QUESTIONS_LIMIT) {
    throw new AgentError(
      "too_large",
      `a wait asks ${count} questions; at most ${QUESTIONS_LIMIT} are allowed`,
    );
  }
  const limitBytes = EVENT_LIMIT_BYTES - ADDRESS_BYTES;
  toJson([questions, schema, approval], "what a wait asks, with its schema,", limitBytes);
}

/** A sleep of this time or more is an event. */
const SHOWN_SLEEP_MS = 1_000;

/**
 * Wakes an actor after a time. A restart does not reset that time. If the clock was set back in the meantime, the
 * sleep ends after the time that the code asked for, at the latest. Returns a function that ends it now.
 */
export function sleep(
  caller: Actor,
  { callId, logged }: { readonly callId: CallId; readonly logged: boolean },
  ms: number,
): () => void {
  const { turn, speaker } = caller;
  const { recorder, journal } = turn;
  const { environment } = turn.context;
  const now = environment.now();
  const loggedUntil = journal.wakeTimes.get(callId) ?? Infinity;
  const until = Math.min(loggedUntil, now + ms, LAST_MS);
  let stop = (): void => {};
  const open = openCall(caller, { callId, name: "sleep", args: null, logged }, "sleep", () => stop());
  if (!logged || until < loggedUntil) recorder.record({ type: "Sleep", call_id: callId, ms, until });
  if (!logged && ms >= SHOWN_SLEEP_MS)
    recorder.event(speaker, { type: "Sleeping", call_id: callId, until: toTimestamp(until) });
  turn.slept(open, until);
  const end = (): void => {
    stop();
    if (!turn.calls.accepts(open)) return;
    recorder.record({ type: "Woke", call_id: callId });
    turn.calls.conclude(open, { ok: true, value: null });
  };
  if (!turn.ended) stop = environment.timer(Math.max(until - now, 0), end);
  return end;
}
