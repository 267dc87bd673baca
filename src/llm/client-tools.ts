import type { Json, JsonObject } from "../protocol/json.ts";
import { isObject } from "../protocol/json.ts";
import type { ClientTool } from "../protocol/requests/requests.ts";
import type { Schema } from "../runtime/agent/agent.ts";
import { handwrittenSchema } from "../runtime/agent/definition/handwritten-schema.ts";
import { parseWith } from "../runtime/agent/definition/schema.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import { cut } from "../runtime/journal/json-limits.ts";
import type { ApprovalRules } from "./approval.ts";
import { clientSchema } from "./prompt/client-schema.ts";
import type { Callable, CallableResult, ToolSet } from "./tool-set.ts";

/**
 * The tools of an agent beside those that the client of the request runs. A tool of a client has no name of the agent's own
 * tools, and takes the place of one of a source, whose names change.
 */
export function withClientTools(set: ToolSet, tools: readonly ClientTool[], approve: ApprovalRules): ToolSet {
  const brought = new Map(
    tools.filter(({ name }) => !set.owns(name)).map((tool) => [tool.name, toCallable(tool, approve)]),
  );
  if (brought.size === 0) return set;
  return {
    async descriptions(turn) {
      const own = await set.descriptions(turn);
      return [
        ...own.filter(({ name }) => !brought.has(name)),
        ...Array.from(brought.values(), ({ description }) => description),
      ];
    },
    find: (name) => brought.get(name) ?? set.find(name),
    owns: (name) => set.owns(name),
  };
}

/** The most bytes of the arguments in the text of the question; the wait has all of them. */
const SHOWN_BYTES = 1_024;

function toCallable(tool: ClientTool, approve: ApprovalRules): Callable {
  const { name, description = "", input_schema = ANY_OBJECT, output_schema } = tool;
  const { $schema: _, ...input } = input_schema;
  const inputSchema = clientSchema(input_schema);
  const output = output_schema && clientSchema(output_schema);
  return {
    description: { name, description, input },
    input: inputSchema,
    approve: approve.get(name),
    async call(turn: Turn, args: Json): Promise<CallableResult> {
      await parseWith(inputSchema, args, `the input of ${name}`);
      const question = `The result of ${name} with ${cut(JSON.stringify(args), SHOWN_BYTES)}`;
      const asked = resultSchema(question, output_schema, output);
      const { result, is_error: isError = false } = await turn.waitForInput(asked, { tool: { name, args } });
      const text = typeof result === "string" ? result : JSON.stringify(result);
      return { text, images: [], ...(isError && { isError }) };
    },
  };
}

const ANY_OBJECT: JsonObject = { type: "object" };

/** What a client answers to the call of a tool that it runs. */
interface ClientResult {
  readonly result: Json;
  /** Whether the call has failed; the result then says why. */
  readonly is_error?: boolean;
}

function resultSchema(
  question: string,
  jsonSchema: JsonObject | undefined,
  output: Schema<Json> | undefined,
): Schema<ClientResult> {
  const isError = { type: "boolean", description: "Whether the call has failed; the result then says why." };
  return handwrittenSchema<ClientResult>(
    async (value) => {
      if (!isObject(value)) return toIssue([], "must be an object");
      const { result, is_error: failed, ...rest } = value as JsonObject;
      if (result === undefined) return toIssue(["result"], "is missing");
      if (failed !== undefined && typeof failed !== "boolean")
        return toIssue(["is_error"], "must be true or false");
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined) return toIssue([unknown], "was not asked for");
      if (failed === true) return { value: { result, is_error: true } };
      const { issues = [] } = (await output?.["~standard"].validate(result)) ?? {};
      if (issues.length === 0) return { value: { result } };
      return { issues: issues.map(({ message, path = [] }) => ({ message, path: ["result", ...path] })) };
    },
    {
      type: "object",
      properties: { result: { description: question }, is_error: isError },
      required: ["result"],
      additionalProperties: false,
      ...(jsonSchema && {
        anyOf: [
          { properties: { result: jsonSchema } },
          { properties: { is_error: { const: true } }, required: ["is_error"] },
        ],
      }),
    },
  );
}

function toIssue(path: readonly string[], message: string) {
  return { issues: [{ message, path: [...path] }] };
}
