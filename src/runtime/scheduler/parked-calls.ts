import type { WaitingFor } from "../../protocol/answers/status.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Callee } from "../../protocol/actors.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { TurnJournal, LoggedWait } from "../replay/turn-journal.ts";
import type { LiveWait, OpenCall } from "./call-tree.ts";
import type { TurnCounts } from "./turn-counts.ts";

/**
 * What a parked call waits for from outside its turn; `until` is its deadline in milliseconds since 1970. A new kind of
 * waiting needs a member here, one in `WaitingFor` and one in `toWaitingFor`.
 */
export type ParkReason =
  | { readonly kind: "input"; readonly waitId: number; readonly until?: number }
  | { readonly kind: "sleep"; readonly until: number }
  | { readonly kind: "message"; readonly names: readonly string[]; readonly until?: number }
  /** `until` is the next attempt; `givesUpAt` is when the completion fails. */
  | {
      readonly kind: "model";
      readonly models: readonly string[];
      readonly until: number;
      readonly givesUpAt: number;
    }
  | {
      readonly kind: "actor";
      readonly callee: Callee & { readonly request_id: RequestId };
      readonly until?: number;
    };

type ModelPark = Extract<ParkReason, { readonly kind: "model" }>;

/** Asks of one turn in the index; a turn that is parked on more is not examined for a deadlock. */
const ASKS_LIMIT = 32;

/** How long a call without a wait must be parked for the index to be written, in milliseconds: it costs two commits. */
const LONG_PARK_MS = 5_000;

/**
 * The parked calls of a turn: they wait for something from outside the turn; with the waits for input that the log has open
 * and the replayed code has not reached.
 */
export class ParkedCalls {
  /** The client-chosen ids of the answers. */
  #resumeIds: Set<string> | undefined;
  /** The id of the newest ResumeWithInput or WaitExpired, 0 for none. */
  lastResume: number;
  /** The parked calls, oldest first. */
  #calls: Set<OpenCall> | undefined;
  /** The open waits for input. One that the code has not reached has no call. */
  #waits: Map<CallId, LoggedWait | LiveWait> | undefined;
  /** Resolved for those who answer a wait when the replayed code reaches it. */
  #awaited: Map<CallId, PromiseWithResolvers<LiveWait | undefined>> | undefined;
  /** Other calls that have a deadline. */
  #limited: Set<OpenCall> | undefined;
  readonly #counts: TurnCounts;

  constructor({ open, resumeIds, lastResume }: TurnJournal, counts: TurnCounts) {
    this.#counts = counts;
    this.lastResume = lastResume;
    if (resumeIds.size > 0) this.#resumeIds = new Set(resumeIds);
    for (const { callId, wait } of open) {
      if (wait === undefined) continue;
      (this.#waits ??= new Map()).set(callId, wait);
      counts.waits += 1;
      counts.unreplayed += 1;
    }
  }

  /** All waits for input, oldest first. */
  get allWaits(): readonly LoggedWait[] {
    return [...(this.#waits?.values() ?? [])].sort((a, b) => a.waitId - b.waitId);
  }

  /**
   * The first deadline, in milliseconds since 1970; `undefined` when there is none. Code may have computed a fraction, and
   * an engine stores whole milliseconds.
   */
  get firstEnd(): number | undefined {
    let first = Infinity;
    for (const { waitsFor } of this.#calls ?? []) first = Math.min(first, waitsFor?.until ?? Infinity);
    for (const { deadline = Infinity } of this.#limited ?? []) first = Math.min(first, deadline);
    return first === Infinity ? undefined : Math.ceil(first);
  }

  /** What the oldest parked call waits for. The status of the request shows it if no wait is open. */
  get oldest(): WaitingFor | undefined {
    for (const { waitsFor } of this.#calls ?? [])
      if (waitsFor)
        return waitsFor.kind === "model" ? this.#toModelAwaited(waitsFor) : toWaitingFor(waitsFor);
    return undefined;
  }

  /** A model that is away: the turn need not continue before the model is there, or anything else ends. */
  #toModelAwaited({ models, until, givesUpAt }: ModelPark): WaitingFor {
    const [model = "", ...fallback] = models;
    let expiresAt = givesUpAt;
    for (const { waitsFor: reason } of this.#calls ?? []) {
      const isSame = reason?.kind === "model" && reason.models.join() === models.join();
      expiresAt = Math.min(expiresAt, (isSame ? reason.givesUpAt : reason?.until) ?? Infinity);
    }
    for (const { deadline = Infinity } of this.#limited ?? []) expiresAt = Math.min(expiresAt, deadline);
    return {
      kind: "model",
      model,
      ...(fallback.length > 0 && { fallback }),
      retry_at: toTimestamp(until),
      expires_at: toTimestamp(expiresAt),
    };
  }

  /** The asks that the turn is parked on, if it is parked on nothing else and none has a deadline; `undefined` otherwise. */
  get asks(): readonly RequestId[] | undefined {
    const asks: RequestId[] = [];
    for (const { waitsFor: reason } of this.#calls ?? []) {
      if (reason?.kind !== "actor" || reason.until !== undefined || asks.length === ASKS_LIMIT)
        return undefined;
      asks.push(reason.callee.request_id);
    }
    return asks.length === 0 ? undefined : asks;
  }

  /** The oldest call that waits for a message with a name. */
  receiver(name: string): OpenCall | undefined {
    if (this.#counts.messages === 0) return undefined;
    for (const call of this.#calls ?? []) {
      const { waitsFor: reason } = call;
      if (reason?.kind === "message" && reason.names.includes(name)) return call;
    }
    return undefined;
  }

  /** A call is parked from now on. */
  add(call: OpenCall, reason: ParkReason, now: number): void {
    call.waitsFor = reason;
    (this.#calls ??= new Set()).add(call);
    this.#count(reason, 1);
    call.isLong = reason.kind !== "input" && isLong(reason.until, now);
    if (call.isLong) this.#counts.long += 1;
  }

  /** Adds a call with a deadline that is not parked itself; the deadline does not depend on the calls below it. */
  limit(call: OpenCall, until: number): void {
    call.deadline = until;
    (this.#limited ??= new Set()).add(call);
  }

  /** A call has ended. */
  remove(call: OpenCall): void {
    this.#limited?.delete(call);
    const { waitsFor: reason } = call;
    if (reason === undefined || this.#calls?.delete(call) !== true) return;
    this.#count(reason, -1);
    if (call.isLong) this.#counts.long -= 1;
    if (reason.kind === "input" && this.#waits?.delete(call.callId) === true) this.#counts.waits -= 1;
  }

  /** The wait of a call, if the code has reached it. */
  waitOf(callId: CallId): LiveWait | undefined {
    const wait = this.#waits?.get(callId);
    return wait && "call" in wait ? wait : undefined;
  }

  /** Has the waits looked at that may not need an answer any more. */
  look(): void {
    for (const wait of this.#waits?.values() ?? []) if ("call" in wait) wait.look?.();
  }

  /** A wait can be answered from now on. */
  addWait(wait: LiveWait): void {
    const { callId } = wait;
    const before = this.#waits?.get(callId);
    if (before === undefined) this.#counts.waits += 1;
    else if (!("call" in before)) this.#counts.unreplayed -= 1;
    (this.#waits ??= new Map()).set(callId, wait);
    this.#reached(callId, wait);
  }

  /** Resolves with the wait of a call when it can be answered, or with `undefined` if it is closed before. */
  whenLive(callId: CallId): Promise<LiveWait | undefined> {
    const wait = this.#waits?.get(callId);
    if (wait === undefined || "call" in wait) return Promise.resolve(wait);
    this.#awaited ??= new Map();
    const awaited = this.#awaited.get(callId) ?? Promise.withResolvers<LiveWait | undefined>();
    this.#awaited.set(callId, awaited);
    return awaited.promise;
  }

  /** Drops the waits under a call that the code will never reach, and returns them. */
  dropUnreplayed(above: CallId): readonly LoggedWait[] {
    if (this.#counts.unreplayed === 0) return [];
    const dropped: LoggedWait[] = [];
    for (const [callId, wait] of this.#waits ?? []) {
      if ("call" in wait || !isUnder(callId, above)) continue;
      dropped.push(wait);
      this.#waits?.delete(callId);
      this.#counts.waits -= 1;
      this.#counts.unreplayed -= 1;
      this.#reached(callId, undefined);
    }
    return dropped;
  }

  /** Whether an answer with a resume id was given. */
  knowsAnswer(resumeId: string): boolean {
    return this.#resumeIds?.has(resumeId) === true;
  }

  /** Notes the resume id of an answer. */
  answered(resumeId: string): void {
    (this.#resumeIds ??= new Set()).add(resumeId);
  }

  /** The turn has ended or is passivated. */
  clear(): void {
    this.#calls = undefined;
    this.#limited = undefined;
    this.#waits = undefined;
    const counts = this.#counts;
    counts.parked = 0;
    counts.sleeps = 0;
    counts.messages = 0;
    counts.waits = 0;
    counts.unreplayed = 0;
    for (const awaited of this.#awaited?.values() ?? []) awaited.resolve(undefined);
    this.#awaited = undefined;
  }

  #reached(callId: CallId, wait: LiveWait | undefined): void {
    this.#awaited?.get(callId)?.resolve(wait);
    this.#awaited?.delete(callId);
  }

  #count({ kind }: ParkReason, step: number): void {
    const counts = this.#counts;
    counts.parked += step;
    if (kind === "sleep") counts.sleeps += step;
    if (kind === "message") counts.messages += step;
  }
}

/** What a call with a wait is parked for. */
export function toParkReason({ waitId, expiresAt: until }: LoggedWait): ParkReason {
  return { kind: "input", waitId, ...(until !== undefined && { until }) };
}

/** Whether it is parked for so long that this is worth the commits of a passivation. */
export function isLong(until: number | undefined, now: number): boolean {
  return until === undefined || until - now >= LONG_PARK_MS;
}

/** What a call is parked for, as the status of a request shows it. */
function toWaitingFor(reason: Exclude<ParkReason, ModelPark>): WaitingFor {
  switch (reason.kind) {
    case "input": {
      const { waitId: wait_id, until } = reason;
      return { kind: "input", wait_id, ...(until !== undefined && { expires_at: toTimestamp(until) }) };
    }
    case "sleep":
      return { kind: "sleep", expires_at: toTimestamp(reason.until) };
    case "message": {
      const { names, until } = reason;
      const [name = ""] = names;
      return {
        kind: "message",
        name,
        ...(names.length > 1 && { names }),
        ...(until !== undefined && { expires_at: toTimestamp(until) }),
      };
    }
    case "actor": {
      const { callee, until } = reason;
      const { name: agent, key, run_id, request_id } = callee;
      return {
        kind: "actor",
        agent,
        ...(key !== undefined && { key }),
        ...(run_id !== undefined && { run_id }),
        request_id,
        ...(until !== undefined && { expires_at: toTimestamp(until) }),
      };
    }
    default: {
      const never: never = reason;
      return never;
    }
  }
}
