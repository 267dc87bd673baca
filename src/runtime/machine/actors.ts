import { fromPromise } from "xstate";
import type { AnyActorLogic, PromiseActorLogic } from "xstate";
import { AgentError } from "../../errors.ts";
import type { Model } from "../../ports/model.ts";
import type { Json } from "../../protocol/json.ts";
import type { Agent, Messages, Operations, Tool } from "../agent/agent.ts";
import { checkCallOptions, checkTimeoutOption } from "../agent/call-options.ts";
import type { CallOptions, TimeoutOption } from "../agent/call-options.ts";
import type { ActorPlace } from "../agent/actor-address.ts";
import { checkAgent } from "../agent/definition/check-definition.ts";
import type { OperationInput, OperationOutput, ToldBody, ToldName, ToldRequest } from "../agent/turn-api.ts";

/** The call that an actor of a machine stands for: of an agent, a tool, another run or a model. */
export type ActorCall =
  | {
      readonly kind: "agent";
      readonly agent: Agent;
      readonly operation: string;
      readonly options: CallOptions;
    }
  | {
      readonly kind: "ask" | "tell";
      readonly agent: Agent;
      readonly operation: string;
      readonly options: CallOptions;
    }
  | { readonly kind: "model"; readonly model: Model; readonly options: TimeoutOption };

/** The input of an actor that asks or tells another run. */
export interface AskInput<Input> {
  /** The run that is asked or told: a key, or the address of an actor of the same agent. */
  readonly actor: ActorPlace;
  readonly input: Input;
}

/**
 * An actor of a machine that calls an operation of an agent, with the actor's input as the operation's input. The call
 * is one of the turn: its events are one level deeper, its questions reach the caller, and it continues after a crash.
 * The options are those of `turn.call`.
 */
export function agentActor<Ops extends Operations, Name extends keyof Ops & string>(
  agent: Agent<Ops>,
  operation: Name,
  options: CallOptions = {},
): PromiseActorLogic<OperationOutput<Ops[Name]>, OperationInput<Ops[Name]>> {
  checkAgent(agent, "the agent of agentActor");
  checkCallOptions(options, `agentActor of ${agent.name}`);
  return toLogic({ kind: "agent", agent, operation, options });
}

/** An actor of a machine that calls a tool. The options are those of `turn.tool`. */
export function toolActor<Input, Output>(
  tool: Tool<Input, Output>,
  options: CallOptions = {},
): PromiseActorLogic<Output, Input> {
  checkAgent(tool, "the tool of toolActor");
  checkCallOptions(options, `toolActor of ${tool.name}`);
  const [operation = tool.name] = Object.keys(tool.operations);
  return toLogic({ kind: "agent", agent: tool, operation, options });
}

/** An actor of a machine that asks another run of an agent for an operation, as `turn.ask` does with the same options. */
export function askActor<Ops extends Operations, Name extends keyof Ops & string>(
  agent: Agent<Ops>,
  operation: Name,
  options: CallOptions = {},
): PromiseActorLogic<OperationOutput<Ops[Name]>, AskInput<OperationInput<Ops[Name]>>> {
  checkAgent(agent, "the agent of askActor");
  checkCallOptions(options, `askActor of ${agent.name}`);
  return toLogic({ kind: "ask", agent, operation, options });
}

/**
 * An actor of a machine that tells another run something: an operation or a message. It is done when the other has it in its
 * log, with the request as its output, as `turn.tell` does with the same options.
 */
export function tellActor<
  Ops extends Operations,
  Accepted extends Messages,
  Name extends ToldName<Ops, Accepted>,
>(
  agent: Agent<Ops, Accepted>,
  name: Name,
  options: CallOptions = {},
): PromiseActorLogic<ToldRequest, AskInput<ToldBody<Ops, Accepted, Name>>> {
  checkAgent(agent, "the agent of tellActor");
  checkCallOptions(options, `tellActor of ${agent.name}`);
  return toLogic({ kind: "tell", agent, operation: name, options });
}

/** An actor of a machine that asks a model; its input is the model's. The model's text is text of the agent. */
export function modelActor(model: Model, options: TimeoutOption = {}): PromiseActorLogic<Json, Json> {
  if (typeof (model as Partial<Model> | undefined)?.generate !== "function")
    throw new AgentError("invalid_request", "the model of modelActor is not a model");
  checkTimeoutOption(options, `modelActor of ${model.name}`);
  return toLogic({ kind: "model", model, options });
}

/** What an actor calls; `undefined` for other logic. */
export function callOf(logic: AnyActorLogic): ActorCall | undefined {
  return (logic as { readonly [CALL]?: ActorCall })[CALL];
}

/** A registered symbol, so that it is the same in all copies of the package in a process. */
const CALL = Symbol.for("troupe.actor");

function toLogic<Output, Input>(call: ActorCall): PromiseActorLogic<Output, Input> {
  const logic = fromPromise<Output, Input>(() => {
    throw new AgentError("invalid_request", "this actor runs only in a machine of fromMachine");
  });
  return Object.defineProperty(logic, CALL, { value: call });
}
