import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "../actor/actor.ts";
import { ONLY } from "../actor/attempt.ts";
import { callAgent, callName, performEffect } from "../actor/call.ts";
import { complete } from "../actor/completion.ts";
import type { Effect } from "../agent/agent.ts";
import { toCalled } from "../agent/resolve-operation.ts";
import type { ActorCall } from "./actors.ts";

/** A promise, or another actor of a machine, as a call of the turn. */
export interface MachineCall {
  readonly callId: CallId;
  readonly logged: boolean;
  /** The name of the actor's logic in the machine. */
  readonly src: string;
  readonly input: Json;
  /** What it calls; absent for a promise of the machine. */
  readonly call: ActorCall | undefined;
  /** Runs the promise. */
  readonly start: () => unknown;
  readonly effect: Effect;
}

/** Starts the call of a machine's actor. Its outcome is a delivery of the turn. */
export function startCall(actor: Actor, { src, input, call, start, effect, ...step }: MachineCall): void {
  switch (call?.kind) {
    case undefined:
      void performEffect(actor, {
        ...step,
        ...ONLY,
        name: src,
        args: input,
        effect,
        perform: start,
        timeoutMs: undefined,
      });
      return;
    case "agent": {
      const { operation: operationName, options } = call;
      // The runtime may bind another agent to the name.
      const own = actor.agent.uses[src];
      const isUsed = own === call.agent;
      const agent = (isUsed ? actor.turn.context.agents.usesOf(actor.agent)[src] : undefined) ?? call.agent;
      callAgent(actor, {
        ...step,
        ...ONLY,
        name: callName(call.agent, operationName, isUsed ? src : undefined),
        args: input,
        agent,
        operationName,
        asked: toCalled(agent, operationName, input),
        timeoutMs: options.timeoutMs ?? agent.callOptions?.timeoutMs,
      });
      return;
    }
    case "model":
      void complete(actor, { ...step, model: call.model, input, timeoutMs: call.options.timeoutMs });
      return;
    default: {
      const never: never = call;
      return never;
    }
  }
}
