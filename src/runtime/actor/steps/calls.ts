import type { Json } from "../../../protocol/json.ts";
import type { Agent } from "../../agent/agent.ts";
import { checkCallOptions, checkEffectOptions, toRetryPolicy } from "../../agent/call-options.ts";
import type { CallOptions, EffectOptions, RetryPolicy } from "../../agent/call-options.ts";
import type { RemoteActor } from "../../agent/remote-port.ts";
import { toCalled } from "../../agent/resolve-operation.ts";
import type { Call, EffectContext } from "../../agent/turn-api.ts";
import { checkName, toJson } from "../../journal/json-limits.ts";
import { allSignature } from "../../replay/signature.ts";
import type { Actor } from "../actor.ts";
import { callName } from "../call.ts";
import { followCall, toCall } from "../call-stream.ts";
import { agentAttempts, effectAttempts, ONLY } from "../retry/attempt.ts";
import type { Attempt, MakeAttempt } from "../retry/attempt.ts";
import { RetriedCall } from "../retry/retry.ts";
import type { Sequence } from "../sequence.ts";

/** Calls an operation of an agent or a tool; with `remoteActor`, of an actor on another server. */
export function call(
  sequence: Sequence,
  agent: Agent,
  operationName: string,
  input: unknown,
  options?: CallOptions,
  remoteActor?: RemoteActor,
): Call<Json> {
  const { actor } = sequence;
  if (options) checkCallOptions(options, actor.describe(`${agent.kind} ${agent.name}`));
  const timeoutMs = options?.timeoutMs ?? agent.callOptions?.timeoutMs;
  const retry = options?.retry ?? agent.callOptions?.retry;
  const policy = toRetryPolicy(retry, agent.kind === "tool" ? agent.effect : "unsafe");
  let made: Attempt | undefined;
  let text = "";
  const called = (async (): Promise<Json> => {
    const args = toJson(input, `the input of ${agent.name}`);
    const asked = toCalled(agent, operationName, args);
    const used = usedAs(actor, agent);
    const name = callName(used?.own ?? agent, operationName, used?.name);
    const make = agentAttempts(
      { name, args, agent, operationName, asked, timeoutMs, ...(remoteActor && { remoteActor }) },
      { agent: used?.name ?? agent.name, operation: operationName },
      (inWords) => {
        text = inWords;
      },
    );
    made = attempted(sequence, policy, make);
    return made.result;
  })();
  return toCall(called, {
    text: () => text,
    listen: () => followCall(sequence, made?.step),
    cancel: () => made?.cancel(),
  });
}

/** Runs an effect of the handler. */
export function effect(
  sequence: Sequence,
  name: string,
  perform: (context: EffectContext) => unknown,
  options: EffectOptions,
): Promise<Json> {
  checkName(name, "the name of an effect");
  checkEffectOptions(options, sequence.actor.describe(`effect ${name}`));
  const { effect: kind = "unsafe", timeoutMs, retry } = options;
  const make = effectAttempts({ name, args: {}, effect: kind, perform, timeoutMs });
  return attempted(sequence, toRetryPolicy(retry, kind), make).result;
}

/** Makes a call once, or again while its policy says so. */
export function attempted(sequence: Sequence, policy: RetryPolicy | undefined, make: MakeAttempt): Attempt {
  if (policy === undefined) return make(sequence, ONLY);
  return new RetriedCall(sequence.actor, sequence.begin(allSignature(1)), policy, make);
}

/** The name under which an actor uses an agent, and that agent's original definition, if it uses it. */
export function usedAs(
  { agent: user, turn }: Actor,
  agent: Agent,
): { readonly name: string; readonly own: Agent } | undefined {
  const uses = turn.context.agents.usesOf(user);
  const name = Object.keys(uses).find((known) => uses[known] === agent);
  const own = name === undefined ? undefined : user.uses[name];
  return own && name !== undefined ? { name, own } : undefined;
}
