import type { CallId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { Actor } from "../../actor/actor.ts";
import { ONLY } from "../../actor/retry/attempt.ts";
import { callAgent, callName, performEffect } from "../../actor/call.ts";
import { complete } from "../../actor/completion.ts";
import type { Effect } from "../../agent/agent.ts";
import { toCalled } from "../../agent/resolve-operation.ts";
import { toActorAddress } from "../../agent/actor-address.ts";
import { askActor, toCallee } from "../../actor/messages/ask.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../../journal/json-limits.ts";
import { actorCallName } from "../../replay/actor-request.ts";
import type { ActorCall, AskInput } from "../actors.ts";

/** A promise, or another actor of a machine, that is to become a call of the turn. */
export interface MachineCall {
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
export interface MachineStep {
  readonly callId: CallId;
  readonly logged: boolean;
}

/**
 * Checks the call of a machine's actor, and returns a function that starts it. Its outcome is a delivery of the turn.
 * The check comes before the call takes its place in the journal.
 */
export function prepareCall(
  actor: Actor,
  { src, input, call, start, effect }: MachineCall,
): (step: MachineStep) => void {
  switch (call?.kind) {
    case undefined:
      return (step) =>
        void performEffect(actor, {
          ...step,
          ...ONLY,
          name: src,
          args: input,
          effect,
          perform: start,
          timeoutMs: undefined,
        });
    case "agent": {
      const { operation: operationName, options } = call;
      // The runtime may bind another agent to the name.
      const isUsed = actor.agent.uses[src] === call.agent;
      const agent = (isUsed ? actor.turn.context.agents.usesOf(actor.agent)[src] : undefined) ?? call.agent;
      const asked = toCalled(agent, operationName, input);
      return (step) =>
        void callAgent(actor, {
          ...step,
          ...ONLY,
          name: callName(call.agent, operationName, isUsed ? src : undefined),
          args: input,
          agent,
          operationName,
          asked,
          timeoutMs: options.timeoutMs ?? agent.callOptions?.timeoutMs,
        });
    }
    case "ask": {
      const { operation, options } = call;
      const { actor: place = "", input: given } = input as unknown as Partial<AskInput<Json>>;
      const address = toActorAddress(call.agent, place);
      const args = toJson(given, `the input of ${call.agent.name}`, INPUT_LIMIT_BYTES);
      return (step) =>
        askActor(actor, {
          ...step,
          retryOf: undefined,
          mode: "ask",
          address,
          callee: toCallee(address),
          name: actorCallName(call.agent.name, operation),
          args,
          timeoutMs: options.timeoutMs,
        });
    }
    case "model":
      return (step) =>
        void complete(actor, { ...step, model: call.model, input, timeoutMs: call.options.timeoutMs });
    default: {
      const never: never = call;
      return never;
    }
  }
}
