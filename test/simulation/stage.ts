import type { Agent } from "troupe";
import { createMachineAgent } from "../faults/machine-agent.ts";
import { createCast } from "../laws/cast.ts";
import type { Outside } from "../laws/cast.ts";

/** The agents of every world, and the world in which they act at present. */
export interface Stage {
  readonly agents: readonly Agent[];
  /** Lets the agents act in another world. */
  enter(outside: Outside): void;
}

/** Agents cost more to define than a world takes: they are made once. */
export const stage: Stage = createStage();

function createStage(): Stage {
  const current: Outside = { programs: new Map(), note() {}, macrotask() {} };
  const machine = createMachineAgent(async ({ key }) => {
    current.note(`risky ${key}`);
    await new Promise<void>((resolve) => {
      current.macrotask(resolve);
    });
    return key;
  });
  return {
    agents: [...createCast(current), machine],
    enter: (outside) => void Object.assign(current, outside),
  };
}
