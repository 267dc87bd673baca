import type { QueueOptions } from "../../ports/model.ts";
import { ownerOf } from "../../ports/principal.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Effect } from "../agent/agent.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import { HeldSlot } from "../scheduler/slot-queue.ts";
import type { SlotQueue } from "../scheduler/slot-queue.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** A new call, made for the first time or again after a crash. */
export interface NewCall {
  readonly callId: CallId;
  /** The name in its events. */
  readonly name: string;
  readonly args: Json;
  /** Whether it is already in the log (without an outcome). */
  readonly logged: boolean;
}

/** A call that may have a deadline. */
export interface TimedCall {
  readonly callId: CallId;
  /** The time limit that the code gives. */
  readonly timeoutMs: number | undefined;
}

/** What happens with a call whose outcome is unknown: it continues after its logged steps, or as its effect says. */
export type RepeatPolicy = Effect | "continue";

/** Why the runtime ends a call without its work. */
export type AbortReason = "timeout" | "overloaded" | "interrupted";

/** A call of an agent, a tool, an effect, an actor or a model: what differs between them. */
export interface AttemptedCall {
  readonly open: OpenCall;
  readonly logged: boolean;
  readonly timeoutMs: number | undefined;
  readonly policy: RepeatPolicy;
  /** The concurrency and rate limits of the tool or model that is called; read for each attempt, after its start is recorded. */
  readonly queue?: QueueOptions | undefined;
  /** Called before the first attempt of this activation, with its number. */
  prepare?(attempt: number): void;
  /**
   * Lets an attempt begin whose start is recorded; absent or `undefined` if it may begin at once. Calls `asking` before it waits for
   * people, which does not count for the time limit of the call. Throws if the attempt may not begin.
   */
  admit?(asking: () => void): Promise<void> | undefined;
  /** Records the start of an attempt, with the deadline of the call. */
  record(attempt: number, expiresAt: string | undefined): void;
  /** Does the work of an attempt, and ends the call. Throws if the attempt has failed. */
  perform(attempt: number): Promise<void> | void;
  /**
   * Records that a failed attempt is followed by another one. Returns the time of that in milliseconds since 1970, or
   * `undefined` if it was the last one. Default: every failed
   * attempt is the last one.
   */
  retryAt?(thrown: unknown, attempt: number): number | undefined;
  /** Waits for the time of the next attempt, without a slot. Throws if there is none after all. */
  rest?(until: number): Promise<void>;
  /** Ends the call with the failure of its last attempt. Default: it ends the turn. */
  failed?(thrown: unknown): void;
  /** Ends the call without its work. */
  fail(code: AbortReason, message: string): void;
}

/**
 * Makes a call: counts its attempts, waits for a slot of its queue, limits its time, and tries again after a failure that
 * may pass. An attempt begins when its start is committed, because nothing may happen outside that the log does not
 * contain. A call of the log without an outcome was interrupted; that attempt counts, unless it still waited for its
 * slot, its failure is in the log, or another turn may have ended the process.
 */
export async function makeCall(caller: ActorContext, call: AttemptedCall): Promise<void> {
  try {
    await makeAttempts(caller, call);
  } catch (thrown) {
    // A model can throw where only its limits are read. Such a call has no end, so its turn would wait for it.
    caller.turn.failWith(thrown, "agent_crashed");
  }
}

async function makeAttempts(caller: ActorContext, call: AttemptedCall): Promise<void> {
  const { open, logged, policy } = call;
  const { context, journal, recorder } = caller.turn;
  const { limits, queues } = context;
  const known = logged ? journal.calls.get(open.callId) : undefined;
  const { attempts: before = 0, failed = 0, spared = 0, isQueued: wasQueued = false, retryAt } = known ?? {};
  const expire = (): void => {
    call.fail("timeout", toTimeoutMessage(call));
    open.abort();
  };
  const deadline = Deadline.start(caller, call, expire);
  if (deadline?.isOver === true) {
    // Waits one microtask, because the code that makes the call may begin to iterate the call's events in it.
    await Promise.resolve();
    expire();
    return;
  }
  const isContinued = policy === "continue" && before > 0;
  const first = wasQueued || isContinued ? before : before + 1;
  const most = limits.attempts + spared + failed;
  call.prepare?.(first);
  const isUnsure = !isContinued && !wasQueued && retryAt === undefined;
  if (isUnsure && (first > most || (policy === "unsafe" && before > 0))) {
    call.fail("interrupted", `${open.name} was interrupted; whether it took effect is unknown`);
    return;
  }
  /** Begins an attempt. Returns whether its work may be done. */
  const begin = async (number: number): Promise<boolean> => {
    if (!open.open) return false;
    const isLogged = number === before;
    if (!isLogged) call.record(number, deadline?.expiresAt);
    // A call that waits for a slot or for people has done nothing.
    let isQueued = isLogged;
    const admitted =
      isLogged && isContinued
        ? undefined
        : call.admit?.(() => {
            if (!isQueued) recorder.record({ type: "Queued", call_id: open.callId });
            isQueued = true;
            deadline?.pause();
          });
    if (admitted !== undefined) await admitted;
    if (!open.open) return false;
    const begun = { call_id: open.callId, ...deadline?.resume() };
    const queue = call.queue && queues.of(call.queue);
    if (isLogged && isContinued) {
      if (queue) retakeSlot(open, queue);
      return true;
    }
    if (queue && (await takeSlot(caller, open, { queue, wasQueued: isQueued, begun })) === "full") {
      const what = "all its slots are taken, and too much waits for them";
      call.fail("overloaded", `${open.name} was not started: ${what}`);
    }
    if (queue === undefined && isQueued) recorder.record({ type: "Begun", ...begun });
    try {
      await recorder.committed();
    } catch {
      // A failed commit is reported to the run, which closes its calls.
      return false;
    }
    return open.open;
  };
  const attempt = async (number: number): Promise<void> => {
    if (await begin(number)) await call.perform(number);
  };
  const pauseAfter = (thrown: unknown, number: number): number | undefined =>
    open.open ? call.retryAt?.(thrown, number) : undefined;
  const pause = async (until: number): Promise<void> => {
    open.slot?.release();
    await call.rest?.(until);
  };
  try {
    if (retryAt !== undefined) await pause(retryAt);
    await inAttempts({ first, most: Infinity, attempt, pauseAfter, pause });
  } catch (thrown) {
    if (!open.open) return;
    if (call.failed === undefined) throw thrown;
    call.failed(thrown);
  }
}

/** Something that is tried again while it fails. */
export interface AttemptLoop<Value> {
  /** The numbers of the next attempt and of the last one that is allowed. */
  readonly first: number;
  readonly most: number;
  attempt(number: number): Promise<Value>;
  /** The pause after a failed attempt, as `pause` takes it; `undefined` if the failure is final. */
  pauseAfter(thrown: unknown, number: number): number | undefined;
  /** Waits. Throws if there is no next attempt after all. */
  pause(time: number, thrown: unknown): Promise<void>;
}

/** Makes attempts until one succeeds. Throws the failure of the last one. */
export async function inAttempts<Value>(attempts: AttemptLoop<Value>): Promise<Value> {
  const { first, most } = attempts;
  for (let number = first; ; number += 1) {
    try {
      return await attempts.attempt(number);
    } catch (thrown) {
      const time = number < most ? attempts.pauseAfter(thrown, number) : undefined;
      if (time === undefined) throw thrown;
      await attempts.pause(time, thrown);
    }
  }
}

/** The pause after an attempt, in milliseconds: doubled with each, up to an hour. */
export function pauseAfterMs(firstMs: number, attempt: number): number {
  return backoffMs({ firstMs, mostMs: LONGEST_PAUSE_MS }, attempt - 1);
}

const LONGEST_PAUSE_MS = 3_600_000;

/**
 * The deadline of a call: wall time from the first event of the call, or from when it has waited for people last. It is in the log,
 * so a restart does not move it. After a clock was set back, the call gets at most the time limit that the code gives.
 */
class Deadline {
  readonly #caller: ActorContext;
  readonly #call: AttemptedCall;
  readonly #expired: () => void;
  /** As the events of the call have it. */
  expiresAt: string | undefined;
  /** Whether it was over when the call was made again after a crash. */
  readonly isOver: boolean;
  #stopAlarm: (() => void) | undefined;

  private constructor(
    caller: ActorContext,
    call: AttemptedCall,
    expired: () => void,
    logged: number | undefined,
  ) {
    this.#caller = caller;
    this.#call = call;
    this.#expired = expired;
    const { environment } = caller.turn.context;
    const now = environment.now();
    const until = Math.min(logged ?? Infinity, Math.ceil(now + (call.timeoutMs ?? Infinity)));
    this.isOver = until <= now;
    this.expiresAt = toTimestamp(logged ?? until);
    call.open.whenClosed(() => this.#stopAlarm?.());
    if (!this.isOver) this.#begin(until);
  }

  /** Starts it; `undefined` if the call has none. `expired` is called if the call is still open then. */
  static start(caller: ActorContext, call: AttemptedCall, expired: () => void): Deadline | undefined {
    const logged = caller.turn.journal.calls.get(call.open.callId)?.deadline;
    if (call.timeoutMs === undefined && logged === undefined) return undefined;
    return new Deadline(caller, call, expired, logged);
  }

  /** The call waits for people. */
  pause(): void {
    this.expiresAt = undefined;
    this.#stopAlarm?.();
    this.#stopAlarm = undefined;
    this.#caller.turn.quiescence.expires(this.#call.open, Infinity);
  }

  /** Begins it anew if the call has waited for people. Returns what the log needs of that. */
  resume(): { readonly expires_at?: string } {
    const { timeoutMs } = this.#call;
    if (this.expiresAt !== undefined || timeoutMs === undefined) return {};
    const until = Math.ceil(this.#caller.turn.context.environment.now() + timeoutMs);
    this.expiresAt = toTimestamp(until);
    this.#begin(until);
    return { expires_at: this.expiresAt };
  }

  #begin(until: number): void {
    const { turn } = this.#caller;
    const { open } = this.#call;
    if (!open.open) return;
    this.#stopAlarm = turn.context.environment.alarm(until, this.#expired);
    turn.quiescence.expires(open, until);
  }
}

/** The message of a call that did not end before its deadline. */
function toTimeoutMessage({ open: { name }, timeoutMs }: AttemptedCall): string {
  return `${name} did not end ${timeoutMs === undefined ? "before its deadline" : `within ${timeoutMs} ms`}`;
}

/**
 * Takes a slot for a call whose start is recorded just before, and waits for one if all are taken. Returns `full` if
 * the call must not wait. The log has a record `Queued` while a call waits, and a record `Begun` when it has its slot,
 * so a call without `Begun` has done nothing before a crash. `wasQueued` is true if the log has the call waiting.
 */
async function takeSlot(
  { turn }: ActorContext,
  open: OpenCall,
  { queue, wasQueued, begun }: WantedSlot,
): Promise<"begun" | "full" | "ended"> {
  const { recorder, runId, accepted, context } = turn;
  const owner = ownerOf(accepted);
  const { callId: call_id } = open;
  if (queue.take()) {
    hold(open, queue);
    if (wasQueued) recorder.record({ type: "Begun", ...begun });
    return "begun";
  }
  // Below a held slot nothing waits, because two calls could then wait for each other.
  if (holdsSlot(open.parent) || queue.size >= context.limits.queuedCalls) return "full";
  if (!wasQueued) recorder.record({ type: "Queued", call_id });
  const isGiven = await new Promise<boolean>((resolve) => {
    const leave = queue.wait({ owner, runId }, () => {
      hold(open, queue);
      resolve(true);
    });
    open.whenClosed(() => {
      leave();
      resolve(false);
    });
  });
  if (!isGiven || !open.open) return "ended";
  recorder.record({ type: "Begun", ...begun });
  return "begun";
}

interface WantedSlot {
  readonly queue: SlotQueue;
  /** Whether the log has the call waiting. */
  readonly wasQueued: boolean;
  /** What the log gets when the call has its slot, if it has waited. */
  readonly begun: { readonly call_id: CallId; readonly expires_at?: string };
}

/** Gives a call that continues from the log its slot, even if that is one more than the limit allows. */
function retakeSlot(open: OpenCall, queue: SlotQueue): void {
  queue.retake();
  hold(open, queue);
}

function hold(open: OpenCall, queue: SlotQueue): void {
  const slot = new HeldSlot(queue);
  open.slot = slot;
  open.whenClosed(() => slot.release());
}

function holdsSlot(call: OpenCall | undefined): boolean {
  for (let above = call; above; above = above.parent) if (above.slot) return true;
  return false;
}
