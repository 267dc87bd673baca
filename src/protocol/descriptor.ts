import type { JsonObject } from "./json.ts";

/** One thing an agent can be asked for. */
export interface OperationDescriptor {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input; absent where anything goes. */
  readonly input_schema?: JsonObject;
  readonly output_schema?: JsonObject;
}

/** What an agent says of itself: the answer of `describe`. */
export interface AgentDescriptor {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  readonly endpoints: readonly string[];
  readonly operations: readonly OperationDescriptor[];
  readonly tools: readonly string[];
  /** JSON Schema of what ConfigureRequest takes, where the agent declares one. */
  readonly config_schema?: JsonObject;
}
