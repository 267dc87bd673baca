import { AgentError, isInstance } from "../../../errors.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RetryCode, RetryPolicy } from "../../agent/call-options.ts";
import { allSignature, sleepSignature } from "../../replay/signature.ts";
import { ReplayScope } from "../../replay/scope.ts";
import type { Attempt, MakeAttempt } from "./attempt.ts";
import { Sequence } from "../sequence.ts";
import type { Step } from "../sequence.ts";
import { sleep } from "../wait.ts";

/** The longest pause between two attempts. */
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * A call that is made again when it fails. It is one branch of its caller's sequence, whose items are the attempts and
 * the pauses between them; so each attempt has an id and an outcome of its own, and a replay repeats the decisions.
 * Unlike with other branches, the caller's sequence continues beside it.
 */
export class RetriedCall implements Attempt {
  readonly step: Step | undefined;
  readonly result: Promise<Json>;
  readonly #above: Sequence;
  readonly #policy: RetryPolicy;
  readonly #make: MakeAttempt;
  #isCanceled = false;
  /** What runs now: an attempt or a pause. */
  #current: { cancel(): void } | undefined;

  constructor(above: Sequence, policy: RetryPolicy, make: MakeAttempt) {
    this.#above = above;
    this.#policy = policy;
    this.#make = make;
    this.step = above.begin(allSignature(1));
    this.result = this.step ? this.#perform(this.step) : above.actor.turn.over();
  }

  cancel(): void {
    this.#isCanceled = true;
    this.#current?.cancel();
  }

  async #perform({ callId, logged }: Step): Promise<Json> {
    const { actor, scope: above } = this.#above;
    const { turn } = actor;
    if (!logged) turn.recorder.record({ type: "All", call_id: callId, branches: 1 });
    const path = `${callId}:0`;
    const scope = new ReplayScope(path, turn.journal.items.get(path));
    turn.activity.begin(path, { above: above.path, isAside: true });
    // The code above waits for this call, although only its attempts have outcomes.
    turn.deliveries.expect(callId, () => {});
    try {
      return await this.#attempts(new Sequence(actor, scope));
    } finally {
      turn.deliveries.forget(callId);
      turn.activity.end(path);
      turn.activity.activate(above.path);
      const divergence = scope.end();
      if (divergence && actor.call.open) turn.diverge(divergence);
    }
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

/** The error of a call that was canceled between two attempts. */
function toCanceled({ agent = "", operation, callId = "" }: AgentError): AgentError {
  const call = { agent, callId, ...(operation !== undefined && { operation }) };
  return new AgentError("canceled", `${agent} was canceled`, { call });
}
