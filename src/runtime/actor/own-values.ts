import { AgentError, isInstance } from "../../errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Agent } from "../agent/agent.ts";
import { parseNow } from "../agent/definition/schema.ts";

/** A copy of a configuration, parsed with the agent's schema. */
export function parsedConfig({ name, config: schema }: Agent, given: JsonObject): JsonObject {
  const config = copyJson(given);
  if (schema === undefined) return config;
  try {
    return parseNow(schema, config, `the configuration of ${name}`) as JsonObject;
  } catch (thrown) {
    if (!isInstance(thrown, AgentError)) throw thrown;
    const message = `${thrown.message}; configure the agent, or give its schema a default`;
    throw new AgentError(thrown.code, message, { cause: thrown });
  }
}

/** A copy of an agent's memory, parsed with its schema. */
export function parsedMemory(
  { name, memorySchema: schema }: Agent,
  kept: Json | undefined,
): Json | undefined {
  const value = copyJson(kept);
  if (schema === undefined) return value;
  try {
    return parseNow(schema, value, `the memory of ${name}`) as Json;
  } catch (thrown) {
    // An empty memory fits only a schema that has a default.
    if (value === undefined && isInstance(thrown, AgentError)) return undefined;
    throw thrown;
  }
}
