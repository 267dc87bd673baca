import type { Agent, Schema } from "../agent.ts";
import { checkNotRoute } from "./define.ts";

/**
 * An agent as it is served. A tool becomes an agent with one operation that calls it, so that what the tool says
 * belongs to a call, and a crash in the middle of it means what its `effect` says.
 */
export function toServed(agent: Agent): Agent {
  if (agent.kind !== "tool") return agent;
  checkNotRoute(agent.name);
  const [entry] = Object.entries(agent.operations);
  if (entry === undefined) return agent;
  const [name, { description, input, output }] = entry;
  return {
    ...agent,
    kind: "agent",
    tools: [agent],
    operations: {
      [name]: {
        description,
        input: unchanged(input),
        ...(output && { output: unchanged(output) }),
        run: (given, turn) => turn.tool(agent, given),
      },
    },
  };
}

/** The same schema, but it does not change the value that it checks: the tool parses the value itself. */
function unchanged(schema: Schema<unknown>): Schema<unknown> {
  const standard = schema["~standard"];
  return {
    "~standard": {
      ...standard,
      async validate(value) {
        const result = await standard.validate(value);
        return result.issues === undefined ? { value } : result;
      },
    },
  };
}
