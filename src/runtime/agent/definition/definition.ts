import { AgentError } from "../../../errors.ts";
import { reservedNames } from "../../../protocol/routes.ts";
import type {
  Agent,
  AgentOptions,
  ChatAnswer,
  ChatInput,
  ChatOutput,
  Collaborators,
  DeclaredOperations,
  MachineOperation,
  Messages,
  Operation,
  OperationOptions,
  Operations,
  ReadOperation,
  Schema,
} from "../agent.ts";
import { checkNoQueue } from "../call-options.ts";
import { markAgent, checkAgent, checkOperation, checkSchema } from "./check-definition.ts";
import { handwrittenSchema } from "./handwritten-schema.ts";
import { checkMailbox } from "./mailbox.ts";
import { checkSupervision } from "./supervision.ts";
import type { Schedule, ScheduledOperations } from "./schedule.ts";

/** Reads the schedules of an agent. */
type ToSchedules = (
  agent: string,
  operations: Operations,
  schedules: ScheduledOperations,
) => { readonly [name: string]: Schedule };

/**
 * Makes an agent of its options. `toSchedules` reads its schedules: that needs a library for times, which only an agent with
 * schedules needs.
 */
export function toAgent<
  Ops extends DeclaredOperations,
  Uses extends Collaborators,
  Tools extends readonly Agent[],
>(
  options: AgentOptions<Ops, Uses, never, never, never, Messages, Tools> & {
    readonly schedules?: ScheduledOperations;
  },
  toSchedules?: ToSchedules,
): Agent {
  const {
    name,
    purpose,
    version,
    compatible = [],
    chat,
    tools = [],
    uses = {},
    messages,
    mailbox,
    supervise,
    schedules,
    expireMs,
    shared = false,
    config,
    memory = "own",
    memorySchema,
  } = options;
  if (typeof name !== "string" || !AGENT_NAME.test(name)) {
    throw new AgentError(
      "invalid_request",
      `${JSON.stringify(name)} is not a valid agent name: use a-z, 0-9 and -, at most 63 characters, starting with a letter`,
    );
  }
  checkNotRoute(name);
  const operations =
    typeof options.operations === "function"
      ? // At run time every handler gets the turn of its agent.
        options.operations(operation)
      : options.operations;
  if (chat !== undefined && typeof chat !== "function")
    throw new AgentError("invalid_request", `the chat of agent ${name} is not a function`);
  const all: Operations = { ...(chat && { chat: chatOperation(purpose, chat) }), ...operations };
  if (Object.keys(all).length === 0)
    throw new AgentError("invalid_request", `agent ${name} has no operation`);
  if (typeof purpose !== "string") throw new AgentError("invalid_request", `agent ${name} has no purpose`);
  for (const [operationName, one] of Object.entries(all)) {
    checkOperationName(operationName);
    if (messages && Object.hasOwn(messages, operationName))
      throw new AgentError(
        "invalid_request",
        `agent ${name} has an operation and a message with the name ${operationName}; rename one of them`,
      );
    checkOperation(one, `operation ${operationName} of agent ${name}`);
  }
  for (const [messageName, schema] of Object.entries<Schema<unknown>>(messages ?? {})) {
    checkOperationName(messageName, "message");
    checkSchema(schema, `message ${messageName} of agent ${name}`);
  }
  for (const [index, tool] of tools.entries()) checkAgent(tool, `tools[${index}] of agent ${name}`);
  for (const [usedName, used] of Object.entries(uses)) {
    checkUsedName(name, usedName);
    checkAgent(used, `uses.${usedName} of agent ${name}`);
  }
  checkNoQueue(options, name);
  if (expireMs !== undefined && !(Number.isFinite(expireMs) && expireMs > 0))
    throw new AgentError("invalid_request", `the expireMs of agent ${name} must be a positive number`);
  if (typeof shared !== "boolean")
    throw new AgentError("invalid_request", `the shared of agent ${name} must be true or false`);
  if (mailbox !== undefined) checkMailbox(mailbox, name);
  if (supervise !== undefined) checkSupervision(supervise, name);
  if (config !== undefined) checkSchema(config, `the config of agent ${name}`);
  if (memorySchema !== undefined) checkSchema(memorySchema, `the memorySchema of agent ${name}`);
  return markAgent({
    name,
    purpose,
    ...(version !== undefined && { version }),
    compatible,
    kind: "agent",
    effect: "idempotent",
    operations: all,
    ...(messages && { messages }),
    ...(mailbox && { mailbox: { ...mailbox } }),
    ...(supervise && { supervise: { ...supervise } }),
    ...(schedules && toSchedules && { schedules: toSchedules(name, all, schedules) }),
    ...(expireMs !== undefined && { expireMs }),
    ...(shared && { shared }),
    tools,
    uses,
    ...(config && { config }),
    memory,
    ...(memorySchema && { memorySchema }),
  });
}

/** Defines an operation of an agent that only reads. */
export function operation<Given, Input, Returned, Output = Returned>(
  options: ReadOperation<Given, Input, Returned, Output>,
): Operation<Given, NoInfer<Output>>;
/** Defines one operation of an agent. */
export function operation<Given, Input, Returned, Output = Returned>(
  options: OperationOptions<Given, Input, Returned, Output> & { readonly read?: never },
  // Without an output schema, the output type is the handler's return type, not the type that the context
  // expects.
): Operation<Given, NoInfer<Output>>;
/** Defines one operation of an agent that is no function: a state machine gets it as an event, an endpoint as a request. */
export function operation<Given = object, Output = unknown, Parsed = Given>(
  options: MachineOperation<Given, Output, Parsed> & { readonly run?: never },
): MachineOperation<Given, Output, Parsed>;
export function operation(options: object): object {
  return { description: "", ...options };
}

/** Throws for the name of an agent that would hide a route at the root. */
export function checkNotRoute(name: string): void {
  if (!reservedNames.has(name)) return;
  throw new AgentError("invalid_request", `"${name}" is not a valid agent name: it is a route of the server`);
}

/** The schema of a chat's input, as in the protocol's draft. */
export const chatInput: Schema<ChatInput, ChatInput> = objectWithString("input");

/** The schema of a chat's output, as in the protocol's draft. */
export const chatOutput: Schema<ChatOutput, ChatOutput> = objectWithString("output");

const AGENT_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const OPERATION_NAME = /^[a-z][a-z0-9_]{0,62}$/;
const USED_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

/** Throws for a name that no operation or message can have. */
export function checkOperationName(name: string, kind = "operation"): void {
  if (typeof name === "string" && OPERATION_NAME.test(name)) return;
  throw new AgentError(
    "invalid_request",
    `"${name}" is not a valid ${kind} name: use a-z, 0-9 and _, at most 63 characters, starting with a letter`,
  );
}

function checkUsedName(agent: string, name: string): void {
  if (USED_NAME.test(name)) return;
  throw new AgentError(
    "invalid_request",
    `agent ${agent} uses an agent as "${name}", which is not a valid name: use letters, digits, - and _, starting with a letter`,
  );
}

function chatOperation(
  purpose: string,
  chat: (input: string, turn: never) => ChatAnswer | Promise<ChatAnswer>,
): Operation {
  // The runtime gives each agent a turn with its own configuration, memory and collaborators.
  return {
    description: purpose,
    input: chatInput,
    run: (input, turn) => chat((input as ChatInput).input, turn as never),
  };
}

/** A handwritten schema, so that defining an agent needs no schema library. */
function objectWithString<Key extends string>(
  key: Key,
): Schema<{ readonly [K in Key]: string }, { readonly [K in Key]: string }> {
  const jsonSchema = {
    type: "object",
    properties: { [key]: { type: "string" } },
    required: [key],
  };
  return handwrittenSchema((value) => {
    const text = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
    if (typeof value !== "object" || typeof text !== "string") {
      return { issues: [{ message: "must be a string", path: [key] }] };
    }
    return { value: { [key]: text } as { readonly [K in Key]: string } };
  }, jsonSchema);
}
