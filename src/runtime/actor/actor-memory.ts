import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { toJson } from "../journal/json-limits.ts";
import type { Memory } from "../agent/turn-api.ts";

/** An actor's memory, and what it has put there since it began. */
export interface ActorMemory extends Memory {
  /** What was set, to be kept if the actor succeeds; `undefined` when nothing was. */
  changed(): Json | undefined;
}

/**
 * The memory of an actor. The agent that was asked works on what it keeps for the run; an agent that
 * is called starts with nothing and keeps nothing, unless it is defined to share its memory of the run.
 * What it gets is a copy: it changes nothing until it is set.
 */
export function createMemory({
  turn,
  agent,
  depth,
}: Pick<ActorContext, "turn" | "agent" | "depth">): ActorMemory {
  const kept = depth === 0 || agent.memory === "run";
  let changed: Json | undefined;
  return {
    changed: () => (kept ? changed : undefined),
    get() {
      if (changed !== undefined) return copyJson(changed);
      const before = turn.memory[agent.name];
      if (depth === 0) return copyJson(before);
      return kept ? copyJson(turn.shared.values.get(agent.name) ?? before) : undefined;
    },
    set(value) {
      changed = toJson(value, `the memory of ${agent.name}`, turn.context.limits.memoryBytes);
    },
  };
}
