import { createHash } from "node:crypto";
import type { Agent } from "troupe";
import { remoteAgent } from "troupe/client";
import { createMachineAgent } from "../faults/server/machine-agent.ts";
import { createAgents } from "../laws/agents.ts";
import type { Outside, Performer } from "../laws/agents.ts";
import { createTalker } from "../laws/talkers.ts";
import { createChart, createNoter } from "./agents/chart.ts";
import { clerk } from "./agents/clerk.ts";
import { createGuide } from "./agents/guide.ts";
import { DESCRIPTION } from "./remote/network.ts";

/** The agents of all simulations, and the current simulation. */
export interface Stage {
  readonly agents: readonly Agent[];
  /** An agent with schedules, which only some simulations serve. */
  readonly clerk: Agent;
  /** Runs the agents in another simulation. */
  enter(outside: Around): void;
}

/** The services of the agents, and the connection to the remote agent. */
export interface Around extends Outside {
  readonly fetch: typeof fetch;
}

// The simulation does not control the platform's own threads, so this must be synchronous. Other tests of the same worker
// use it too.
Object.defineProperty(crypto.subtle, "digest", {
  value: async (algorithm: string | { readonly name: string }, data: ArrayBuffer | Uint8Array) =>
    new Uint8Array(
      createHash(typeof algorithm === "string" ? algorithm : algorithm.name)
        .update(new Uint8Array(data))
        .digest(),
    ).buffer,
});

/** Defining agents costs more than a simulation, so they are created once. */
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
  const remote = remoteAgent<Performer>("http://far/agents/remote", {
    fetch: (url, init) => current.fetch(url, init),
    // Its description is fetched once, because its age is measured by the system clock.
    refreshMs: Infinity,
  });
  await remote.remote?.ready();
  const talker = createTalker();
  const performers = createAgents(current, { remote });
  const chart = createChart(performers.find(({ name }) => name === "agent") as Performer, talker);
  return {
    agents: [...performers, machine, remote, talker, createGuide(current), chart, createNoter(chart)],
    clerk,
    enter: (outside) => void Object.assign(current, outside),
  };
}
