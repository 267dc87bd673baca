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

/** An actor that is in memory now. */
export interface ActorFacts {
  readonly run_id: string;
  readonly agent: string;
  readonly key?: string;
  readonly status: string;
  readonly queued: number;
  readonly unread: number;
  /** What it waits for inside the process. */
  readonly calls: readonly { readonly call_id: string; readonly kind: string; readonly name: string }[];
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

export async function readActors(server: PageServer, signal: AbortSignal): Promise<readonly ActorFacts[]> {
  const { json } = await server.ask("GET", "/inspect/actors", { signal });
  return json as readonly ActorFacts[];
}

/** A drawing of more agents says nothing. */
const MOST = 60;
const AT_ONCE = 4;
