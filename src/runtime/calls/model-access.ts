import { fieldOf, isInstance } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model } from "../../ports/model.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { ModelErrorCode, Usage } from "../../protocol/events/outcome-codes.ts";
import { isModelCode } from "../../protocol/events/outcome-codes.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Backoff } from "../../shared/backoff.ts";
import type { ModelRetryOptions } from "../agent/call-options.ts";
import { errorMessage } from "../agent/error-message.ts";
import { toModel } from "../model/provider-model.ts";
import type { ModelFallback } from "../agent/turn-api.ts";
import type { CallRecord } from "../replay/turn-journal.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { breakerName } from "./breaker.ts";
import type { Pass } from "./breaker.ts";

/** The completion whose models are asked. */
export interface AccessOptions {
  readonly caller: ActorContext;
  readonly open: OpenCall;
  readonly model: Model;
  readonly fallback: ModelFallback | undefined;
  readonly retry: ModelRetryOptions | undefined;
  /** What the log has of it; absent for a new one. */
  readonly known: CallRecord | undefined;
}

/**
 * The access of one completion to its models: which one the next attempt asks, and how long the completion rests while all
 * of them are away. The attempts between two rests are a round; in a round each model is asked once.
 */
export class ModelAccess {
  readonly #options: AccessOptions;
  readonly #backoff: Required<Backoff>;
  readonly #forMs: number;
  #triedAt: number | undefined;
  /** The attempts that failed so far. */
  #failures: number;
  /** The models of the round, in their order, and those that were asked or are away. */
  #models: readonly Model[];
  readonly #tried = new Set<Model>();
  /** The shortest time that a provider wants to be left alone in the round; absent if no model is away. */
  #awayMs: number | undefined;
  /** The model of the attempt, and its pass; it has none while the model is away. */
  #current: Model;
  #pass: Pass | undefined;
  /** Whether the pass was given for the next attempt. */
  #isGranted = false;
  /** Whether the attempt has given its pass back, or was recorded before a restart, and takes one when it begins. */
  #hasLeft = false;
  #stopRest = (): void => {};
  /** Why the completion is not tried again. */
  #reason: string | undefined;

  constructor(options: AccessOptions) {
    const { model, retry = {}, known, open, caller } = options;
    const { limits } = caller.turn.context;
    const { modelRetryForMs, modelRetryMinMs, modelRetryMaxMs } = limits;
    const { forMs = modelRetryForMs, minMs = modelRetryMinMs, maxMs = modelRetryMaxMs } = retry;
    this.#options = options;
    this.#backoff = { firstMs: minMs, mostMs: maxMs };
    this.#forMs = forMs;
    this.#triedAt = known?.triedAt;
    this.#failures = known?.failed ?? 0;
    this.#hasLeft = known?.isQueued ?? false;
    this.#models = [model];
    this.#current = model;
    open.whenClosed(() => {
      this.#pass?.returned();
      this.#stopRest();
    });
  }

  /** The model of the attempt. */
  get model(): Model {
    return this.#current;
  }

  /** Why the completion is not tried again, after its last failure; absent if that says enough. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Chooses the model of the next attempt, before its start is recorded. */
  choose(): void {
    this.#triedAt ??= this.#now;
    if (this.#isGranted) {
      this.#isGranted = false;
      return;
    }
    this.#pass = undefined;
    const { model } = this.#options;
    if (this.#take()) return;
    if (this.#models.length === 1) this.#models = [model, ...this.#others(awayError(model))];
    if (this.#take()) return;
    this.#current = this.#models.find((one) => !this.#tried.has(one)) ?? model;
    for (const one of this.#models) this.#tried.add(one);
  }

  /** The model may be asked now. Throws if it is away. */
  begin(): Model {
    if (this.#hasLeft)
      this.#pass = this.#options.caller.turn.context.breakers
        .of(this.#current)
        .take(this.#options.caller.turn.runId);
    this.#hasLeft = false;
    if (this.#pass === undefined) throw awayError(this.#current);
    return this.#current;
  }

  /** The attempt begins later: others may ask the model meanwhile. */
  leave(): void {
    this.#pass?.returned();
    this.#pass = undefined;
    this.#hasLeft = true;
  }

  /** The model has answered. */
  succeeded(): void {
    this.#pass?.succeeded();
  }

  /**
   * An attempt failed, which has used something. Returns when the next one begins, in milliseconds since 1970, and records that; `undefined` if there
   * is none.
   */
  retryAt(thrown: unknown, attempt: number, used: Usage): number | undefined {
    const { caller, open, model } = this.#options;
    const { recorder, context } = caller.turn;
    const code = codeOf(thrown);
    const retryAfterMs = code === undefined ? undefined : (thrown as ModelError).retryAfterMs;
    if (code === "model_unavailable") {
      this.#pass?.failed(this.#backoff, retryAfterMs);
      this.#awayMs = Math.min(this.#awayMs ?? Infinity, retryAfterMs ?? 0);
    } else this.#pass?.returned();
    this.#tried.add(this.#current);
    const others = this.#others(thrown);
    if (others.length > 0) this.#models = [model, ...others];
    const error = errorMessage(thrown);
    const said = {
      type: "CompletionRetry",
      model: this.#current.name,
      call_id: open.callId,
      attempt,
      error,
      ...(code && { error_code: code }),
      ...(Object.keys(used).length > 0 && { usage: used }),
    } as const;
    const now = this.#now;
    if (this.#isInRound) {
      recorder.event(caller.speaker, said);
      return now;
    }
    if (this.#awayMs === undefined || this.#forMs === 0) return undefined;
    this.#failures += 1;
    const ownMs = backoffMs(this.#backoff, this.#failures - 1, context.environment.random());
    const until = Math.ceil(now + Math.max(ownMs, this.#awayMs));
    if (until >= this.#givesUpAt) {
      this.#reason =
        this.#awayMs > ownMs
          ? `it asks for a retry after ${Math.ceil(this.#awayMs / 1_000)} s`
          : this.#awayFor;
      return undefined;
    }
    recorder.event(caller.speaker, { ...said, until: toTimestamp(until) });
    this.#tried.clear();
    this.#awayMs = undefined;
    return until;
  }

  /**
   * Waits at rest until a time, and from then until one of the models is there. Throws when the completion is not to be
   * tried any longer. A turn that leaves memory meanwhile ends this wait.
   */
  async rest(until: number): Promise<void> {
    if (this.#isInRound && until <= this.#now) return;
    const { open, caller, model } = this.#options;
    const { turn } = caller;
    const { environment, breakers } = turn.context;
    if (this.#models.length === 1) this.#models = [model, ...this.#others(awayError(model))];
    this.#tried.clear();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stopRest = resolve;
    const stops = [environment.alarm(this.#givesUpAt, () => reject(this.#gaveUp(awayError(model))))];
    const grant = (granted: Model, pass: Pass): void => {
      if (this.#isGranted || !open.open) {
        pass.returned();
        return;
      }
      this.#isGranted = true;
      this.#pass = pass;
      this.#current = granted;
      resolve();
    };
    const ask = (): void => {
      for (const one of this.#models)
        if (!this.#isGranted) stops.push(breakers.of(one).wait(turn.runId, (pass) => grant(one, pass)));
    };
    let isOver = false;
    let endPause = (): void => {};
    const pauseUntil = (at: number): void => {
      const pause = this.#openPause(at);
      const stop = environment.alarm(at, () => {
        if (isOver) return;
        if (at === until) ask();
        turn.calls.ended(pause);
        // The turn may leave memory while it waits for its pass, and needs a time at which it looks again.
        if (!this.#isGranted) pauseUntil(this.#soon);
      });
      endPause = () => {
        stop();
        turn.calls.ended(pause);
      };
    };
    const now = this.#now;
    if (until <= now) ask();
    if (!this.#isGranted) pauseUntil(until > now ? until : this.#soon);
    try {
      await promise;
    } finally {
      isOver = true;
      for (const stop of stops) stop();
      endPause();
    }
  }

  /** Opens the call that rests until a time. */
  #openPause(until: number): OpenCall {
    const { open, caller } = this.#options;
    const { turn, speaker } = caller;
    const pause = new OpenCall({
      callId: `${open.callId}~`,
      kind: "pause",
      name: "pause",
      speaker,
      parent: open,
    });
    const models = this.#models.map(breakerName);
    turn.calls.opened(pause);
    turn.quiescence.park(pause, { kind: "model", models, until, givesUpAt: this.#givesUpAt });
    return pause;
  }

  /** When it looks again whether a model is there that was away just now. */
  get #soon(): number {
    const { environment } = this.#options.caller.turn.context;
    const firstMs = Math.max(this.#backoff.mostMs, SOON_MS);
    return Math.ceil(this.#now + backoffMs({ firstMs }, 0, environment.random()));
  }

  get #now(): number {
    return this.#options.caller.turn.context.environment.now();
  }

  get #givesUpAt(): number {
    return (this.#triedAt ?? this.#now) + this.#forMs;
  }

  /** Whether a model of the round was not asked yet. */
  get #isInRound(): boolean {
    return this.#tried.size > 0 && this.#models.some((model) => !this.#tried.has(model));
  }

  #gaveUp(error: ModelError): ModelError {
    this.#reason = this.#awayFor;
    return error;
  }

  get #awayFor(): string {
    return `it was away for ${Math.ceil(this.#forMs / 1_000)} s`;
  }

  /** Takes a pass for the first model of the round that is there and was not asked. */
  #take(): boolean {
    const { runId, context } = this.#options.caller.turn;
    for (const model of this.#models) {
      if (this.#tried.has(model)) continue;
      const pass = context.breakers.of(model).take(runId);
      if (pass === undefined) continue;
      this.#pass = pass;
      this.#current = model;
      return true;
    }
    return false;
  }

  /** The models that are asked after a failure, as the code says. */
  #others(thrown: unknown): readonly Model[] {
    const { fallback } = this.#options;
    const code = codeOf(thrown);
    if (typeof fallback !== "function" && code !== "model_unavailable") return [];
    try {
      const error = { message: errorMessage(thrown), model: this.#current.name, ...(code && { code }) };
      const others = typeof fallback === "function" ? fallback(error) : (fallback ?? []);
      return others.map((other) => toModel(other, "a fallback"));
    } catch (error) {
      const { turn, agent } = this.#options.caller;
      turn.context.telemetry.failed("a fallback failed", error, turn.place({ agent: agent.name }));
      return [];
    }
  }
}

/** A completion that waits for its model looks again after this time at least, in milliseconds. */
const SOON_MS = 10_000;

/** Why a model gave no answer, if the thrown value says it. */
export function codeOf(thrown: unknown): ModelErrorCode | undefined {
  const code = isInstance(thrown, ModelError) ? fieldOf(thrown, "code") : undefined;
  return isModelCode(code) ? code : undefined;
}

/** The failure of an attempt that was not made. */
function awayError({ name }: Model): ModelError {
  return new ModelError(`${name} is away`, { code: "model_unavailable" });
}
