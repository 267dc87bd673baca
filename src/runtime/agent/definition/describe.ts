import type {
  AgentDescriptor,
  MessageDescriptor,
  OperationDescriptor,
} from "../../../protocol/answers/descriptor.ts";
import { endpoints } from "../../../protocol/routes.ts";
import { CHAT } from "../agent.ts";
import type { Agent, Collaborators, Messages, Operation, Tool } from "../agent.ts";
import { operationNames, toForwardedChat } from "../resolve-operation.ts";
import { chatInput, chatOutput } from "./definition.ts";
import { toJsonSchema } from "./schema.ts";

/** The description of an agent that uses these other agents. */
export function toDescriptor(agent: Agent, uses: Collaborators): AgentDescriptor {
  const config = agent.config && toJsonSchema(agent.config, "input");
  const messages = describeMessages(agent.messages);
  return {
    name: agent.name,
    purpose: agent.purpose,
    ...(agent.version !== undefined && { version: agent.version }),
    endpoints,
    operations: describeOperations(agent),
    ...(messages.length > 0 && { messages }),
    tools: [
      ...new Set(
        [...agent.tools, ...Object.values(uses), ...toolsFromSources(agent)].map(({ name }) => name),
      ),
    ],
    keys: true,
    ...(agent.clientTools && { client_tools: true }),
    ...(agent.machine && { statechart: agent.machine.statechart }),
    ...(config && { config_schema: config }),
  };
}

/** The tools of an agent that are known only while the process runs, as they are known now. */
export function toolsFromSources({ sources = [] }: Agent): readonly Tool[] {
  return sources.flatMap(({ tools }) => tools);
}

/** The operations of an agent, with their schemas. */
export function describeOperations(agent: Agent): readonly OperationDescriptor[] {
  return operationNames(agent).map((name) => toOperation(agent, name));
}

/** Messages with their schemas. */
export function describeMessages(messages: Messages = {}): readonly MessageDescriptor[] {
  return Object.entries(messages).map(([name, schema]) => {
    const body = toJsonSchema(schema, "input");
    return { name, ...(body && { body_schema: body }) };
  });
}

function toOperation(agent: Agent, name: string): OperationDescriptor {
  const own = agent.operations[name];
  const operation: Partial<Operation> & Pick<Operation, "description" | "input"> = own ?? {
    ...toForwardedChat(agent),
    input: chatInput,
  };
  const isOwnChat = own !== undefined && name === CHAT;
  const outputSchema = operation.output ?? (isOwnChat ? chatOutput : undefined);
  const input = toJsonSchema(operation.input, "input");
  const output = outputSchema && toJsonSchema(outputSchema, "output");
  return {
    name,
    description: operation.description || (isOwnChat ? "Send a text to the agent." : ""),
    ...(operation.read === true && { read: true }),
    ...(input && { input_schema: input }),
    ...(output && { output_schema: output }),
  };
}
