import { AgentError, isInstance } from "../../errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { toJson } from "../journal/json-limits.ts";
import { parseNow } from "../agent/definition/schema.ts";
import type { Memory } from "../agent/turn-api.ts";

/** An actor's memory, including the changes of this actor. */
export interface ActorMemory extends Memory {
  /** The new value, which is kept if the actor succeeds; `undefined` if it is unchanged. */
  changed(): Json | undefined;
}

/**
 * The memory of an actor. The requested agent has its memory of the run. A called agent starts with an empty
 * memory that is not kept, unless its definition shares the memory of the run. `get` returns a copy, so that
 * changing it has no effect until it is set. With a schema, the log stores the value that was set, and `get`
 * returns the parsed value.
 */
export function createMemory({
  turn,
  agent,
  depth,
}: Pick<ActorContext, "turn" | "agent" | "depth">): ActorMemory {
  const kept = depth === 0 || agent.memory === "run";
  const { memorySchema: schema } = agent;
  const what = `the memory of ${agent.name}`;
  let changed: Json | undefined;

  function read(): Json | undefined {
    if (changed !== undefined) return changed;
    const before = turn.memory[agent.name];
    if (depth === 0) return before;
    return kept ? (turn.calls.staged.get(agent.name) ?? before) : undefined;
  }

  return {
    changed: () => (kept ? changed : undefined),
    get() {
      const value = copyJson(read());
      if (schema === undefined) return value;
      try {
        return parseNow(schema, value, what) as Json;
      } catch (thrown) {
        // An empty memory fits only a schema that has a default.
        if (value === undefined && isInstance(thrown, AgentError)) return undefined;
        throw thrown;
      }
    },
    set(value) {
      if (schema) parseNow(schema, value, what);
      changed = toJson(value, what, turn.context.limits.memoryBytes);
    },
  };
}
