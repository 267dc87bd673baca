import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { readInspectedAgent } from "../data/inspect.ts";
import { readAgentNames } from "../data/requests.ts";
import type { PageServer } from "../data/page-server.ts";

/** The agents of the server and who can call whom. */
export interface AgentLinks {
  readonly agents: readonly string[];
  readonly links: readonly AgentLink[];
}

export interface AgentLink {
  readonly from: string;
  readonly to: string;
}

export async function readAgentLinks(server: PageServer, signal: AbortSignal): Promise<AgentLinks> {
  const agents = await readAgentNames(server, signal);
  const links: AgentLink[] = [];
  const inspect = (name: string): ReturnType<typeof readInspectedAgent> =>
    readInspectedAgent(server, name, signal);
  for await (const { name, collaborators, tools } of mapConcurrent(agents.slice(0, MOST), AT_ONCE, inspect)) {
    const called = [...collaborators, ...tools].filter(({ agent }) => agents.includes(agent));
    for (const to of new Set(called.map(({ agent }) => agent))) links.push({ from: name, to });
  }
  return { agents, links };
}

/** A drawing of more agents says nothing. */
const MOST = 60;
const AT_ONCE = 4;
