import { createHash } from "node:crypto";
import type { Agent } from "troupe";
import { remoteAgent } from "troupe/client";
import { createMachineAgent } from "../faults/machine-agent.ts";
import { createCast } from "../laws/cast.ts";
import type { Outside, Performer } from "../laws/cast.ts";
import { DESCRIPTION } from "./far-wire.ts";

/** The agents of every world, and the world in which they act at present. */
export interface Stage {
  readonly agents: readonly Agent[];
  /** Lets the agents act in another world. */
  enter(outside: Around): void;
}

/** What agents find around them, and the way to the one that works elsewhere. */
export interface Around extends Outside {
  readonly fetch: typeof fetch;
}

// What the platform does in a thread of its own a world knows nothing of: it has to be done at once.
Object.defineProperty(crypto.subtle, "digest", {
  value: async (_algorithm: string, data: Uint8Array) => createHash("sha256").update(data).digest(),
});

/** Agents cost more to define than a world takes: they are made once. */
export const stage: Stage = await createStage();

async function createStage(): Promise<Stage> {
  const describe = async (): Promise<Response> => Response.json(DESCRIPTION);
  const current: Around = { programs: new Map(), note() {}, macrotask() {}, fetch: describe };
  const machine = createMachineAgent(async ({ key }) => {
    current.note(`risky ${key}`);
    await new Promise<void>((resolve) => {
      current.macrotask(resolve);
    });
    return key;
  });
  const remote = remoteAgent<Performer["operations"]>("http://far/agents/remote", {
    fetch: (url, init) => current.fetch(url, init),
    // It is asked once what it can do: that is told by the clock of the machine.
    refreshMs: Infinity,
  });
  await remote.remote?.ready();
  return {
    agents: [...createCast(current, { remote }), machine, remote],
    enter: (outside) => void Object.assign(current, outside),
  };
}
