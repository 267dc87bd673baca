import * as z from "zod";
import { jsonObject } from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { JsonObject } from "../json.ts";
import { statechart } from "./statechart.ts";
import type { Statechart } from "./statechart.ts";

/** An operation in the description of an agent. */
export interface OperationDescriptor {
  readonly name: string;
  readonly description: string;
  /** Whether it only reads: it runs beside the turns of its run, and is not in the log. */
  readonly read?: boolean;
  /** JSON Schema of the input; absent if any JSON is accepted. */
  readonly input_schema?: JsonObject;
  readonly output_schema?: JsonObject;
}

/** A message that an agent takes, in its description. */
export interface MessageDescriptor {
  readonly name: string;
  /** JSON Schema of the body, if the schema library can express it. */
  readonly body_schema?: JsonObject;
}

/** The description of an agent: the answer of `describe`. */
export interface AgentDescriptor {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  readonly endpoints: readonly string[];
  readonly operations: readonly OperationDescriptor[];
  /** The messages that its runs accept; absent if there are none. */
  readonly messages?: readonly MessageDescriptor[];
  readonly tools: readonly string[];
  /** Whether requests can name a run by key. Absent in the descriptions of servers that know no keys. */
  readonly keys?: boolean;
  /** Whether its requests can bring tools that the client runs. */
  readonly client_tools?: boolean;
  /** Its chart, if the agent is a state machine. */
  readonly statechart?: Statechart;
  /** JSON Schema of the args of a ConfigureRequest, if the agent declares one. */
  readonly config_schema?: JsonObject;
}

const text = z.string();

const operation = z.object({
  name: text,
  description: text,
  read: z
    .boolean()
    .exactOptional()
    .describe("Whether it only reads: it runs beside the turns of its run, and is not in the log."),
  input_schema: jsonObject
    .exactOptional()
    .describe("JSON Schema of the input; absent if any JSON is accepted."),
  output_schema: jsonObject.exactOptional().describe("JSON Schema of the output."),
} satisfies Shape<OperationDescriptor>);

const message = z.object({
  name: text,
  body_schema: jsonObject
    .exactOptional()
    .describe("JSON Schema of the body; absent if any JSON is accepted."),
} satisfies Shape<MessageDescriptor>);

/** @internal The schema of a description. */
export const agentDescriptor: z.ZodType<AgentDescriptor> = z
  .object({
    name: text,
    purpose: text,
    version: text.exactOptional(),
    endpoints: z.array(text),
    operations: z.array(operation).describe("The agent's operations, including chat."),
    messages: z.array(message).exactOptional().describe("The messages that the agent's runs accept."),
    tools: z.array(text).describe("The tools and agents it calls; informative."),
    keys: z.boolean().exactOptional().describe("Whether requests can name a run by key."),
    client_tools: z
      .boolean()
      .exactOptional()
      .describe("Whether its requests can bring tools that the client runs."),
    statechart: statechart.exactOptional().describe("Its chart, if the agent is a state machine."),
    config_schema: jsonObject.exactOptional().describe("JSON Schema of the args of a ConfigureRequest."),
  } satisfies Shape<AgentDescriptor>)
  .describe("The description of an agent.");
