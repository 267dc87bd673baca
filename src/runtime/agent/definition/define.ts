import type { Json, JsonObject } from "../../../protocol/json.ts";
import type {
  Agent,
  AgentOptions,
  ChatOperations,
  Collaborators,
  DeclaredOperations,
  Messages,
  OperationsOf,
  Tool,
  ToolOptions,
  UsedBeside,
} from "../agent.ts";
import { checkCallOptions, toQueueOptions } from "../call-options.ts";
import { checkOperation, markAgent } from "./check-definition.ts";
import { checkOperationName, toAgent } from "./definition.ts";
import { toSchedules } from "./schedule.ts";
import type { FittingSchedules, ScheduledOperations } from "./schedule.ts";

/** Defines an agent. It starts nothing; a runtime runs the agent. */
export function defineAgent<
  const Ops extends DeclaredOperations,
  const Uses extends Collaborators = Record<never, never>,
  Config = JsonObject,
  Kept = Json,
  KeptGiven = Json,
  const Accepted extends Messages = Record<never, never>,
  const Tools extends readonly Agent[] = readonly [],
  const Schedules extends ScheduledOperations = Record<never, never>,
>(
  options: AgentOptions<Ops, Uses, Config, Kept, KeptGiven, Accepted, Tools> & {
    readonly schedules?: Schedules;
  } & { readonly schedules?: FittingSchedules<Ops, Schedules> },
): Agent<OperationsOf<Ops> & ChatOperations, Accepted, UsedBeside<Uses, Tools>> {
  return toAgent(options as never, toSchedules) as Agent<
    OperationsOf<Ops> & ChatOperations,
    Accepted,
    UsedBeside<Uses, Tools>
  >;
}

/** Defines a tool: an agent with one operation that has its name. */
export function defineTool<Given, Input, Returned, Output = Returned>(
  options: ToolOptions<Given, Input, Returned, Output>,
): Tool<Given, Output> {
  const { name, description, input, output, effect = "unsafe", timeoutMs, retry, readiness, run } = options;
  checkOperationName(name);
  checkOperation(options, `tool ${name}`);
  checkCallOptions(options, `tool ${name}`);
  return markAgent({
    name,
    purpose: description,
    compatible: [],
    kind: "tool",
    effect,
    operations: {
      [name]: { description, input, ...(output && { output }), run },
    },
    tools: [],
    uses: {},
    memory: "own",
    queue: toQueueOptions(options, `tool ${name}`),
    callOptions: { ...(timeoutMs !== undefined && { timeoutMs }), ...(retry && { retry }) },
    ...(readiness && { readiness }),
  });
}
