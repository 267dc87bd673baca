import type { CallId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { toCallFailure } from "../../actor/call-failure.ts";
import type { Effect } from "../../agent/agent.ts";
import { toJson } from "../../journal/json-limits.ts";
import { branchOf, RetriedCall } from "../../actor/retry/retry.ts";
import type { StartedPromise } from "../journaled-logic.ts";
import { NO_CALLS } from "./machine-calls.ts";
import type { MachineCalls } from "./machine-calls.ts";
import { prepareCall } from "./start-call.ts";

/** The running promises of a machine, and its actors that call something: each is a call of the turn. */
export class MachinePromises {
  readonly #calls: MachineCalls;
  readonly #effect: Effect;
  /** The running ones by the path of their actor. */
  readonly #open = new Map<string, CallId>();

  constructor(calls: MachineCalls, effect: Effect) {
    this.#calls = calls;
    this.#effect = effect;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The running promises, for the record. */
  get kept(): { readonly [path: string]: CallId } {
    return this.#open.size === 0 ? NO_CALLS : Object.fromEntries(this.#open);
  }

  /** Runs a promise as a call of the turn; `known` is its logged call, if it is restored. */
  run(
    { src, input: given, signal, start, call }: StartedPromise,
    path: string,
    known: CallId | undefined,
  ): Promise<Json> {
    const calls = this.#calls;
    const { turn } = calls.actor;
    return new Promise((resolve, reject) => {
      const input = toJson(given ?? {}, `the input of ${src}`);
      const prepared = prepareCall(calls.actor, { src, input, call, start, effect: this.#effect });
      const begin = (): void => {
        if (signal.aborted || calls.ended) return;
        const callId = known ?? calls.issue();
        this.#open.set(path, callId);
        const isFirst = known === undefined;
        const step = { callId, logged: !isFirst, settled: false };
        let drop = (): void => calls.drop(callId);
        const close = (): boolean => this.#open.get(path) === callId && this.#open.delete(path);
        signal.addEventListener("abort", () => close() && drop(), { once: true });
        const { retry } = prepared;
        // A call that an earlier version of the agent made without retries is not made again.
        if (retry && (isFirst || turn.journal.items.has(branchOf(step)))) {
          const retried = new RetriedCall(calls.actor, step, retry.policy, retry.make);
          drop = (): void => retried.drop();
          retried.result.finally(close).then(resolve, reject);
          return;
        }
        turn.deliveries.expect(callId, (outcome) => {
          close();
          if (outcome.ok) resolve(outcome.value);
          else reject(toCallFailure(outcome, { agent: src, callId }));
        });
        if (!turn.journal.outcomes.has(callId)) prepared.once(step);
      };
      if (known === undefined) calls.afterTransition(begin);
      else begin();
    });
  }
}
