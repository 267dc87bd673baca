import type { Model } from "openai/resources/models";
import type { Runtime } from "../../runtime/api.ts";
import { unknownModel } from "./refusal.ts";

/** An agent and one of its operations, as a model. */
export interface ModelRef {
  readonly agent: string;
  readonly operation: string;
}

/** The operation that a model without an operation in its name is. */
const CHAT = "chat";

/** The name of a model: that of the agent, and for an operation besides chat that of the operation. */
export function toModelName({ agent, operation }: ModelRef): string {
  return operation === CHAT ? agent : `${agent}/${operation}`;
}

/** Whether a model is one to talk to; the input of any other operation is JSON. */
export function isChat({ operation }: ModelRef): boolean {
  return operation === CHAT;
}

/** Finds a model; the error for an unknown one names those that there are. */
export function findModel(runtime: Runtime, name: string): ModelRef {
  const known = modelsOf(runtime);
  const wanted = name.endsWith(`/${CHAT}`) ? name.slice(0, -CHAT.length - 1) : name;
  const model = known.find((one) => toModelName(one) === wanted);
  if (model !== undefined) return model;
  throw unknownModel(name, `the models are ${known.map(toModelName).join(", ")}`);
}

/** All agents and their operations as models. An operation that only reads runs in no turn, so it is none. */
export function modelsOf(runtime: Runtime): readonly ModelRef[] {
  return runtime.agents.flatMap((agent) =>
    runtime
      .describe(agent)
      .operations.filter(({ read }) => read !== true)
      .map(({ name: operation }) => ({ agent, operation })),
  );
}

export function toModelObject(model: ModelRef): Model {
  return { id: toModelName(model), object: "model", created: 0, owned_by: "troupe" };
}
