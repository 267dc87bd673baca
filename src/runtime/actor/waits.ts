import { AgentError } from "../../errors.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Approval, ClientToolCall, Questions } from "../../protocol/events/event-body.ts";
import { LAST_TIME_MS } from "../../protocol/ids.ts";
import type { CallId } from "../../protocol/ids.ts";
import { copyJson } from "../../protocol/json.ts";
import { FORBIDDEN_KEYS } from "../../protocol/schema/check-json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { unsettled } from "../../shared/deferred.ts";
import type { Schema } from "../agent/agent.ts";
import { errorMessage } from "../agent/error-message.ts";
import { toApprovers } from "../agent/approvers.ts";
import { checkTimeoutOption } from "../agent/call-options.ts";
import { isSchema } from "../agent/definition/check-definition.ts";
import { parseWith, toJsonSchema, toQuestions } from "../agent/definition/schema.ts";
import type { TimedWaitOptions } from "../agent/turn-api.ts";
import { EVENT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { sleepSignature, waitSignature } from "../replay/signature.ts";
import type { LiveWait } from "../scheduler/call-tree.ts";
import { addWait, expireWait, recordWait } from "../turn/turn-waits.ts";
import type { Actor } from "./actor.ts";
import { openCall } from "./call.ts";
import type { Sequence } from "./sequence.ts";

/** The result of `turn.waitForInput`: a promise that knows whether the code of the agent awaits it. */
export class AskedInput extends Promise<unknown> {
  /** The call that is answered, once it has its place in the log. */
  callId: CallId | undefined;
  /** What it asks for. */
  keys: readonly string[] = [];
  /** Called when it is awaited for the first time. */
  whenAwaited: (() => void) | undefined;

  /** `then` and `catch` make plain promises: only the input itself notices that it is awaited. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise that notices its first await
  override then<Result1, Result2>(
    fulfilled?: ((value: unknown) => Result1 | PromiseLike<Result1>) | null,
    rejected?: ((reason: unknown) => Result2 | PromiseLike<Result2>) | null,
  ): Promise<Result1 | Result2> {
    this.whenAwaited?.();
    return super.then(fulfilled, rejected);
  }
}

/** Asks the caller of the turn for values. A handler that ends before its code awaits the answer fails. */
export function askForInput(
  sequence: Sequence,
  asked: Schema<unknown> | { readonly [key: string]: string },
  options: Partial<TimedWaitOptions>,
): Promise<unknown> {
  const { actor } = sequence;
  const { resolve, reject, promise } = AskedInput.withResolvers<unknown>();
  const input = promise as AskedInput;
  const note = (questions: Questions): void => {
    input.keys = Object.keys(questions);
    actor.unawaited.add(input);
  };
  const awaited = (): boolean => actor.unawaited.delete(input);
  input.whenAwaited = awaited;
  const place = (callId: CallId): void => {
    input.callId = callId;
  };
  waitForInput(sequence, asked, { ...options, note, place })
    .then(resolve, reject)
    .finally(awaited);
  // A refused wait must not end the process, so its rejection is handled here, without counting as the await of the
  // agent's code.
  void Promise.prototype.then.call(input, undefined, () => {});
  return input;
}

/** What the result of a wait learns of it at once: what is asked, and its call. */
interface AskedOptions {
  readonly note: (asked: Questions) => void;
  readonly place: (callId: CallId) => void;
}

/** Resolves with the values; with `undefined` if no answer came in time. */
async function waitForInput(
  sequence: Sequence,
  asked: Schema<unknown> | { readonly [key: string]: string },
  { timeoutMs, approval, tool, approvers: given, note, place }: Partial<TimedWaitOptions> & AskedOptions,
): Promise<unknown> {
  const { actor } = sequence;
  if (actor.turn.canceling && !actor.isStopped)
    throw new AgentError(
      "conflict",
      "a cleanup step cannot ask people: it has too little time to wait for them",
    );
  checkTimeoutOption({ ...(timeoutMs !== undefined && { timeoutMs }) }, actor.describe("turn.waitForInput"));
  const approvers = toApprovers(given);
  const schema = isSchema(asked) ? asked : undefined;
  const jsonSchema = schema && toJsonSchema(schema, "input");
  const questions = schema
    ? toQuestions(jsonSchema, (approval ?? tool) !== undefined)
    : // A copy, because the code may change its object while the wait is open.
      copyJson(asked as { readonly [key: string]: string });
  // Checked before it takes a position, because a refused wait is not in the log.
  checkQuestions(questions, jsonSchema, approval ?? tool);
  note(questions);
  const expiresAt = actor.turn.context.environment.now() + (timeoutMs ?? Infinity);
  let isLogged = true;
  const issued = sequence.issue(
    waitSignature(questions),
    (step) => {
      isLogged = false;
      wait(actor, {
        ...step,
        questions,
        schema,
        expiresAt,
        ...(jsonSchema && { jsonSchema }),
        ...(approval && { approval }),
        ...(tool && { tool }),
        ...(approvers && { approvers }),
      });
    },
    { isChecked: true },
  );
  // The position is taken before anything is awaited.
  place(sequence.scope.callId);
  const values = await issued;
  let answer: unknown = values ?? undefined;
  try {
    if (values !== null && schema !== undefined)
      answer = await parseWith(schema, values as JsonObject, "the answer");
  } catch (thrown) {
    if (!isLogged) throw thrown;
    // The answer fitted the schema of the code that asked, or was given while the turn was held.
    actor.turn.hold({
      code: "nondeterministic",
      message: `the logged answer does not fit what the agent asks now: ${errorMessage(thrown)}`,
      scope: sequence.scope.path,
      expected: waitSignature(questions),
      found: errorMessage(thrown),
    });
    return actor.turn.over();
  }
  return actor.turn.isRehearsed ? unsettled() : answer;
}

/** Waits for a time. */
export async function sleepFor(sequence: Sequence, ms: number): Promise<void> {
  if (!Number.isFinite(ms) || ms < 0) throw new TypeError("turn.sleep needs milliseconds, 0 or more");
  await sequence.issue(sleepSignature(ms), (step) => sleep(sequence.actor, step, ms));
}

/** The questions of a wait. */
interface NewWait {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly questions: { readonly [key: string]: string };
  readonly schema: Schema<unknown> | undefined;
  readonly jsonSchema?: JsonObject;
  /** The call that is to be approved. */
  readonly approval?: Approval;
  /** The call of the client's tool whose result is asked. */
  readonly tool?: ClientToolCall;
  /** The roles that may answer. */
  readonly approvers?: readonly string[];
  /** When it ends without an answer, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** Called when an answer comes after that time. Default: the wait ends by itself at that time. */
  readonly expire?: () => void;
}

/** Asks the caller of the turn. A restart does not reset the time limit. */
export function wait(caller: Actor, asked: NewWait): void {
  const { callId, logged, questions, schema, jsonSchema, approval, tool } = asked;
  const { turn, speaker } = caller;
  const { journal } = turn;
  const { environment } = turn.context;
  const before = journal.calls.get(callId)?.wait;
  // The approvers that the log has are those that people were shown.
  const { approvers } = before ?? asked;
  // As with a sleep, a clock that was set back does not extend the time.
  const until = Math.min(before?.expiresAt ?? Infinity, asked.expiresAt ?? Infinity, LAST_TIME_MS);
  const hasEnd = until < LAST_TIME_MS;
  const call = openCall(caller, { callId, name: "wait", args: null, logged }, "wait", () => {});
  const waitId =
    before?.waitId ??
    recordWait(turn, speaker, {
      type: "WaitForInput",
      request_keys: questions,
      ...(jsonSchema && { schema: jsonSchema }),
      ...(approval && { approval }),
      ...(tool && { tool }),
      ...(approvers && { approvers }),
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
    ...(approvers && { approvers }),
    ...(hasEnd && { expiresAt: until, expire }),
  };
  addWait(turn, live);
  if (!hasEnd || asked.expire !== undefined || turn.ended) return;
  call.whenClosed(environment.alarm(until, expire));
}

/** Ends the wait of a call if its time limit has passed. Returns whether it has. */
export function expirePast({ turn }: Actor, callId: CallId): boolean {
  const live = turn.parkedCalls.waitOf(callId);
  if (live === undefined || (live.expiresAt ?? Infinity) > turn.context.environment.now()) return false;
  expireWait(turn, live);
  return true;
}

/** Maximum number of values that one wait asks for. */
const QUESTIONS_LIMIT = 256;

/** The size of an event without its questions. */
const ADDRESS_BYTES = 4_096;

/** Throws `too_large` if there are too many questions for a wait or an event, and a TypeError for one that no request can answer. */
export function checkQuestions(
  questions: Questions,
  schema: JsonObject | undefined,
  about?: Approval | ClientToolCall,
): void {
  const texts: readonly unknown[] = Object.values(questions);
  if (texts.some((text) => typeof text !== "string"))
    throw new TypeError("turn.waitForInput needs a schema, or a text for each requested value");
  const forbidden = Object.keys(questions).find((name) => FORBIDDEN_KEYS.has(name));
  if (forbidden !== undefined)
    throw new TypeError(`turn.waitForInput cannot ask for "${forbidden}": no request may have such a key`);
  const count = texts.length;
  if (count > QUESTIONS_LIMIT) {
    throw new AgentError(
      "too_large",
      `a wait asks ${count} questions; at most ${QUESTIONS_LIMIT} are allowed`,
    );
  }
  const limitBytes = EVENT_LIMIT_BYTES - ADDRESS_BYTES;
  toJson([questions, schema, about], "what a wait asks, with its schema,", limitBytes);
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
  const loggedUntil = journal.calls.get(callId)?.wakeAt ?? Infinity;
  const until = Math.min(loggedUntil, now + ms, LAST_TIME_MS);
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
  if (!turn.ended) stop = environment.alarm(until, end);
  return end;
}
