import { AgentError } from "../../errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Schema, Tool } from "../../runtime/agent/agent.ts";
import { defineTool } from "../../runtime/agent/definition/define.ts";
import type { ToolTurn } from "../../runtime/agent/turn-api.ts";
import { rawSchema } from "../prompt/raw-schema.ts";
import { toToolName } from "../prompt/tool-name.ts";

/** A tool of the AI SDK, as made by `tool({description, inputSchema, execute})`. */
export interface AiSdkTool {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: unknown;
}

/** Converts a tool of the AI SDK; values that it yields before the last one become its progress. */
export function fromAiSdkTool(name: string, tool: AiSdkTool): Tool {
  const { description, inputSchema, execute } = tool;
  if (execute === undefined) throw unusable(name, "has no execute function");
  return defineTool({
    name: toToolName(name),
    description: typeof description === "string" ? description : "",
    input: toSchema(name, inputSchema),
    run(input, turn) {
      const options = { toolCallId: turn.callId, messages: [], abortSignal: turn.signal, context: {} };
      return lastOf((execute as Execute)(input, options), turn);
    },
  });
}

type Execute = (input: unknown, options: object) => unknown;

/** The schema objects of the AI SDK. */
interface AiSdkSchema {
  readonly jsonSchema?: JsonObject;
  readonly validate?: (value: unknown) => ValidationResult | PromiseLike<ValidationResult>;
}

type ValidationResult = { readonly success: true } | { readonly success: false; readonly error: Error };

function toSchema(name: string, schema: unknown): Schema<unknown> {
  if (typeof schema === "function") return toSchema(name, (schema as () => unknown)());
  if (typeof schema !== "object" || schema === null) throw unusable(name, "has no input schema");
  if ("~standard" in schema) return schema as Schema<unknown>;
  const { jsonSchema, validate } = schema as AiSdkSchema;
  if (typeof jsonSchema !== "object" || "then" in jsonSchema) {
    throw unusable(name, "has a schema that is loaded later; give one that is known at once");
  }
  return rawSchema(jsonSchema, async (value) => {
    const result = await validate?.(value);
    return result?.success === false ? result.error.message : undefined;
  });
}

async function lastOf(returned: unknown, turn: ToolTurn): Promise<unknown> {
  if (!isAsyncIterable(returned)) return returned;
  let last: unknown;
  let count = 0;
  for await (const value of returned) {
    if (count > 0) turn.progress(typeof last === "string" ? last : (JSON.stringify(last) ?? ""));
    last = value;
    count += 1;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function unusable(name: string, fact: string): AgentError {
  return new AgentError("invalid_request", `tool ${name} of the AI SDK ${fact}`);
}
