import type { CallId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { Actor } from "../../actor/actor.ts";
import { toCallFailure } from "../../actor/call-failure.ts";
import { callAgent, callName, performEffect } from "../../actor/call.ts";
import { complete } from "../../actor/completion.ts";
import { requestActor, toActorCallee, toToldRequest } from "../../actor/ask.ts";
import { ONLY, RetriedCall, agentAttempts, askAttempts, branchOf } from "../../actor/retry.ts";
import type { MakeAttempt } from "../../actor/retry.ts";
import { toActorAddress } from "../../agent/actor-address.ts";
import type { Effect } from "../../agent/agent.ts";
import { toRetryPolicy } from "../../agent/call-options.ts";
import type { RetryPolicy } from "../../agent/call-options.ts";
import { toInvocation } from "../../agent/resolve-operation.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../../journal/json-limits.ts";
import { actorCallName } from "../../replay/actor-request.ts";
import { actorSignature, callSignature } from "../../replay/signature.ts";
import type { ActorCall, AskInput } from "../actors.ts";
import type { StartedPromise } from "../journaled-logic.ts";
import { NO_CALLS } from "./machine-calls.ts";
import type { MachineCalls } from "./machine-calls.ts";

/** The running promises of a machine, and its actors that call something: each is a call of the turn. */
export class MachinePromises {
  readonly #calls: MachineCalls;
  readonly #effect: Effect;
  /** The calls of the running promises, by the path of their actor. */
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
        const resolveWith = (value: Json): void => resolve(prepared.toOutput?.(value) ?? value);
        let drop = (): void => calls.drop(callId);
        const close = (): boolean => this.#open.get(path) === callId && this.#open.delete(path);
        signal.addEventListener("abort", () => close() && drop(), { once: true });
        const { retry } = prepared;
        // A call that an earlier version of the agent made without retries is not made again.
        if (retry && (isFirst || turn.journal.scopes.get(branchOf(step))?.items)) {
          const retried = new RetriedCall(calls.actor, step, retry.policy, retry.make);
          drop = (): void => retried.drop();
          retried.result.finally(close).then(resolveWith, reject);
          return;
        }
        turn.deliveries.expect(callId, (outcome) => {
          close();
          if (turn.isRehearsed) return;
          if (outcome.ok) resolveWith(outcome.value);
          else reject(toCallFailure(outcome, { agent: src, callId }));
        });
        if (turn.journal.calls.get(callId)?.outcome === undefined) prepared.once(step);
      };
      if (known === undefined) calls.afterTransition(begin);
      else begin();
    });
  }
}

/** A promise, or another actor of a machine, that is to become a call of the turn. */
interface MachineCall {
  /** The name of the actor's logic in the machine. */
  readonly src: string;
  readonly input: Json;
  /** What it calls; absent for a promise of the machine. */
  readonly call: ActorCall | undefined;
  /** Runs the promise. */
  readonly start: () => unknown;
  readonly effect: Effect;
}

/** The place of the call in the journal. */
interface MachineStep {
  readonly callId: CallId;
  readonly logged: boolean;
}

/** A call of a machine's actor that can be started. Its outcome is a delivery of the turn. */
interface PreparedCall {
  /** Makes the call once. */
  once(step: MachineStep): void;
  /** How the call is retried; absent for a call that is made once. */
  readonly retry?: { readonly policy: RetryPolicy; readonly make: MakeAttempt };
  /** The output of the actor, if it is not the value of the outcome. */
  toOutput?(value: Json): Json;
}

/** Checks the call of a machine's actor. The check comes before the call takes its place in the journal. */
function prepareCall(actor: Actor, asked: MachineCall): PreparedCall {
  const { src, input, call, start, effect } = asked;
  switch (call?.kind) {
    case undefined: {
      const made = { name: src, args: input, effect, perform: start, timeoutMs: undefined };
      return { once: (step) => performEffect(actor, { ...step, ...ONLY, ...made }) };
    }
    case "agent":
      return prepareAgent(actor, asked, call);
    case "ask":
    case "tell":
      return prepareAsk(actor, asked, call);
    case "model": {
      const made = { model: call.model, input, timeoutMs: call.options.timeoutMs };
      return { once: (step) => complete(actor, { ...step, ...made }) };
    }
    default: {
      const never: never = call;
      return never;
    }
  }
}

function prepareAgent(
  actor: Actor,
  { src, input }: MachineCall,
  { agent: own, operation: operationName, options }: ActorCall & { readonly kind: "agent" },
): PreparedCall {
  // The runtime may bind another agent to the name.
  const isUsed = actor.agent.uses[src] === own;
  const agent = (isUsed ? actor.turn.context.agents.usesOf(actor.agent)[src] : undefined) ?? own;
  const made = {
    name: callName(own, operationName, isUsed ? src : undefined),
    args: input,
    agent,
    operationName,
    asked: toInvocation(agent, operationName, input),
    timeoutMs: options.timeoutMs ?? agent.callOptions?.timeoutMs,
  };
  const effect = agent.kind === "tool" ? agent.effect : "unsafe";
  const policy = toRetryPolicy(options.retry ?? agent.callOptions?.retry, effect);
  return {
    once: (step) => void callAgent(actor, { ...step, ...ONLY, ...made }),
    ...(policy && { retry: { policy, make: agentAttempts(made, { agent: src }) } }),
  };
}

function prepareAsk(
  actor: Actor,
  { src, input }: MachineCall,
  { kind: mode, agent, operation, options }: ActorCall & { readonly kind: "ask" | "tell" },
): PreparedCall {
  const { actor: place = "", input: given } = input as unknown as Partial<AskInput<Json>>;
  const address = toActorAddress(agent, place);
  const callee = toActorCallee(address);
  const name = actorCallName(agent.name, operation);
  const args = toJson(given, `the input of ${agent.name}`, INPUT_LIMIT_BYTES);
  const made = { mode, address, callee, name, args, timeoutMs: options.timeoutMs } as const;
  const signature = actorSignature(mode, callee, callSignature(name, args));
  const policy = toRetryPolicy(options.retry, "unsafe");
  return {
    once: (step) => requestActor(actor, { ...step, retryOf: undefined, ...made }),
    ...(policy && { retry: { policy, make: askAttempts(signature, made, { agent: src }) } }),
    ...(mode === "tell" && { toOutput: toToldRequest }),
  };
}
