import { AgentError, isInstance } from "../../../errors.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RetryCode, RetryPolicy } from "../../agent/call-options.ts";
import { sleepSignature } from "../../replay/signature.ts";
import { ReplayScope } from "../../replay/scope.ts";
import { scopeOf } from "../../journal/call-id.ts";
import type { Actor } from "../actor.ts";
import type { Attempt, MakeAttempt } from "./attempt.ts";
import { Sequence } from "../sequence.ts";
import type { Step } from "../sequence.ts";
import { sleep } from "../waits.ts";

/** The longest pause between two attempts. */
const LONGEST_PAUSE_MS = 3_600_000;

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
    const scope = new ReplayScope(path, turn.journal.scopes.get(path)?.items);
    turn.activity.begin(path, { above: scopeOf(callId), isAside: true });
    // The code above waits for this call, although only its attempts have outcomes.
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

  async #attempts(sequence: Sequence): Promise<Json> {
    const { attempts, backoffMs } = this.#policy;
    let retryOf: CallId | undefined;
    for (let number = 1; ; number += 1) {
      const attempt = this.#make(sequence, { number, retryOf });
      retryOf ??= attempt.step?.callId;
      this.#current = attempt;
      try {
        return await attempt.result;
      } catch (thrown) {
        if (number >= attempts || !this.#isRetried(thrown)) throw thrown;
        const pauseMs = Math.min(backoffMs * 2 ** (number - 1), LONGEST_PAUSE_MS);
        if (!this.#isCanceled && pauseMs > 0) await this.#pause(sequence, pauseMs);
        if (this.#isCanceled) throw toCanceled(thrown);
      }
    }
  }

  #isRetried(thrown: unknown): thrown is AgentError {
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
