import { AgentError, isInstance } from "../../errors.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { RetryCode, RetryPolicy } from "../agent/call-options.ts";
import { inAttempts, pauseAfterMs } from "../calls/attempts.ts";
import { cancel } from "../calls/call-end.ts";
import { actorSignature, callSignature, sleepSignature } from "../replay/signature.ts";
import type { Signature } from "../replay/signature.ts";
import { ReplayScope } from "../replay/scope.ts";
import { scopeOf } from "../journal/call-id.ts";
import type { Actor } from "./actor.ts";
import { requestActor } from "./ask.ts";
import type { NewAsk } from "./ask.ts";
import { callAgent, performEffect, toCallee } from "./call.ts";
import type { NewAgentCall, AttemptNumber, EffectCall } from "./call.ts";
import { Sequence } from "./sequence.ts";
import type { CallTarget, Step, ToldResult } from "./sequence.ts";
import { sleep } from "./waits.ts";

/** One attempt of a call: a step of a sequence, with an outcome of its own. */
export interface Attempt {
  /** The position of the attempt; `undefined` if the turn has ended, or this call ends it. */
  readonly step: Step | undefined;
  readonly result: Promise<Json>;
  /** Cancels the attempt, unless it has ended. */
  cancel(): void;
}

/** The number of the only attempt of a call without a retry policy. */
export const ONLY: AttemptNumber = { number: 1, retryOf: undefined };

/** Makes an attempt in a sequence. */
export type MakeAttempt = (sequence: Sequence, which: AttemptNumber) => Attempt;

/**
 * A call that is made again when it fails. It is one branch of its caller's scope, whose items are the attempts and
 * the pauses between them; so each attempt has an id and an outcome of its own, and a replay repeats the decisions.
 * Unlike with other branches, the caller continues beside it.
 */
export class RetriedCall implements Attempt {
  readonly step: Step | undefined;
  readonly result: Promise<Json>;
  readonly #actor: Actor;
  readonly #policy: RetryPolicy;
  readonly #make: MakeAttempt;
  #isCanceled = false;
  /** When attempts have failed, in milliseconds since 1970, if only those within a time count. */
  #failures: readonly number[] = [];
  /** What runs now: an attempt or a pause. */
  #current: { readonly step: Step | undefined; cancel(): void } | undefined;

  /** `step` is the place of the branch; `undefined` if the turn has ended, or ends by this. */
  constructor(actor: Actor, step: Step | undefined, policy: RetryPolicy, make: MakeAttempt) {
    this.#actor = actor;
    this.#policy = policy;
    this.#make = make;
    this.step = step;
    this.result = step ? this.#perform(step) : actor.turn.over();
  }

  cancel(): void {
    this.#isCanceled = true;
    this.#current?.cancel();
  }

  /** Cancels the attempt or the pause that runs, for a caller that does not wait for the call any more. */
  drop(): void {
    const { step } = this;
    if (step === undefined || this.#isCanceled) return;
    this.#isCanceled = true;
    const { call, turn } = this.#actor;
    const running = this.#current?.step;
    if (running) turn.calls.drop(call, running.callId);
    this.#end(step);
  }

  async #perform(step: Step): Promise<Json> {
    const { turn, call } = this.#actor;
    const { callId, logged } = step;
    if (!logged) turn.recorder.record({ type: "All", call_id: callId, branches: 1 });
    const path = branchOf(step);
    const scope = new ReplayScope(path, turn.replay);
    turn.activity.begin(path, { above: scopeOf(callId), isAside: true });
    // The code that made the call waits for it under this id, although only the attempts have outcomes in the log.
    turn.deliveries.expect(callId, () => {});
    try {
      return await this.#attempts(new Sequence(this.#actor, scope));
    } finally {
      this.#end(step);
      turn.activity.activate(scopeOf(callId));
      const divergence = scope.end();
      if (divergence && call.open) turn.diverge(divergence);
    }
  }

  #end(step: Step): void {
    const { turn } = this.#actor;
    turn.deliveries.forget(step.callId);
    turn.activity.end(branchOf(step));
  }

  #attempts(sequence: Sequence): Promise<Json> {
    const policy = this.#policy;
    let retryOf: CallId | undefined;
    return inAttempts({
      first: 1,
      most: policy.withinMs === undefined ? policy.attempts : Infinity,
      attempt: (number) => {
        const attempt = this.#make(sequence, { number, retryOf });
        retryOf ??= attempt.step?.callId;
        this.#current = attempt;
        return attempt.result;
      },
      pauseAfter: (thrown, number) => {
        if (!this.#isRetried(thrown)) return undefined;
        const counted = this.#countFailures(sequence) ?? number;
        return counted < policy.attempts ? pauseAfterMs(policy.backoffMs, counted) : undefined;
      },
      pause: async (ms, thrown) => {
        if (!this.#isCanceled && ms > 0) await this.#pause(sequence, ms);
        if (this.#isCanceled) throw toCanceled(thrown as AgentError);
      },
    });
  }

  /** How many attempts have failed within the time of the policy; `undefined` if it has none. */
  #countFailures(sequence: Sequence): number | undefined {
    const { withinMs } = this.#policy;
    if (withinMs === undefined) return undefined;
    const now = sequence.now();
    this.#failures = [...this.#failures.filter((at) => at > now - withinMs), now];
    return this.#failures.length;
  }

  #isRetried(thrown: unknown): boolean {
    if (!isInstance(thrown, AgentError) || thrown.callId === undefined) return false;
    return this.#policy.on.has(thrown.code as RetryCode);
  }

  async #pause(sequence: Sequence, ms: number): Promise<void> {
    const { actor } = sequence;
    const paused = sequence.issue(sleepSignature(ms), (step) => {
      sleep(actor, step, ms);
      this.#current = {
        step,
        cancel() {
          const open = actor.call.child(step.callId);
          if (open) actor.turn.calls.wakeCanceled(open);
        },
      };
    });
    try {
      await paused;
    } catch {
      // The log says that it was canceled.
      this.#isCanceled = true;
    }
  }
}

/** The scope of the attempts. */
export function branchOf({ callId }: Pick<Step, "callId">): string {
  return `${callId}:0`;
}

/** The error of a call that was canceled between two attempts. */
function toCanceled({ agent = "", operation, callId = "" }: AgentError): AgentError {
  const call = { agent, callId, ...(operation !== undefined && { operation }) };
  return new AgentError("canceled", `${agent} was canceled`, { call });
}

/** Makes attempts of a call of an agent; `hear` gets the result as text and files. */
export function agentAttempts(
  call: Omit<NewAgentCall, "callId" | "logged" | "retryOf">,
  of: CallTarget,
  hear: (told: ToldResult) => void = () => {},
): MakeAttempt {
  return (sequence, { retryOf }) => {
    const { actor } = sequence;
    const { remoteActor } = call;
    const plain = callSignature(call.name, call.args);
    const signature = remoteActor ? actorSignature(remoteActor.mode, toCallee(call), plain) : plain;
    const step = sequence.begin(signature);
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of, hear });
    const open = step.settled ? undefined : callAgent(actor, { ...call, ...step, retryOf });
    return { step, result, cancel: () => open && cancel(actor, open) };
  };
}

/** Makes attempts of an ask or a tell. */
export function askAttempts(
  signature: Signature,
  ask: Omit<NewAsk, "callId" | "logged" | "retryOf">,
  of: CallTarget,
): MakeAttempt {
  return (sequence, { retryOf }) => {
    const step = sequence.begin(signature);
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of });
    if (!step.settled) requestActor(sequence.actor, { ...ask, ...step, retryOf });
    return { step, result, cancel() {} };
  };
}

/** Makes attempts of an effect. */
export function effectAttempts(
  call: Omit<EffectCall, "callId" | "logged" | keyof AttemptNumber>,
): MakeAttempt {
  return (sequence, which) => {
    const step = sequence.begin(callSignature(call.name, call.args));
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of: { agent: call.name } });
    if (!step.settled) performEffect(sequence.actor, { ...call, ...step, ...which });
    return { step, result, cancel() {} };
  };
}

function over({ actor }: Sequence): Attempt {
  return { step: undefined, result: actor.turn.over(), cancel() {} };
}
