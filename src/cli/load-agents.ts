import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError } from "../errors.ts";
import { exportedAgents, exportedList, exportedTopics } from "../node/versions/exported-agents.ts";
import type { Agent, Messages } from "../runtime/agent/agent.ts";
import type { Topic } from "../runtime/agent/topic.ts";
import { AgentDirectory } from "../runtime/agent/agent-directory.ts";
import { listAgentFiles } from "./agent-files.ts";
import { EXIT, Exit } from "./exit.ts";
import { toThrownText as toStack } from "./thrown-text.ts";

/** What a directory of agent files contains. */
export interface LoadedAgents {
  /** The exported agents and tools, sorted by file name. */
  readonly agents: readonly Agent[];
  /** The exported topics. */
  readonly topics: readonly Topic<Messages>[];
  /** The file of each agent and tool. */
  readonly files: ReadonlyMap<Agent, string>;
  /** The files that export neither. */
  readonly withoutAgent: readonly string[];
}

/**
 * Imports the files of a directory. Throws for the first one that cannot be loaded; with `leaveOut`, that gets the error, and the
 * agents of the other files are loaded, if there are any.
 */
export async function loadAgents(
  directory: string,
  leaveOut?: (file: string, error: Exit) => void,
): Promise<LoadedAgents> {
  const found = new Map<string, FoundAgent[]>();
  const lists: (readonly Agent[])[] = [];
  const topics = new Set<Topic<Messages>>();
  const withoutAgent: string[] = [];
  const broken = new Map<string, Exit>();
  for (const file of await listAgentFiles(directory)) {
    const exported = await load(join(directory, file)).catch((error: unknown) => {
      if (leaveOut === undefined || !(error instanceof Exit)) throw error;
      broken.set(join(directory, file), error);
      return {};
    });
    if (broken.has(join(directory, file))) continue;
    const list = exportedList(exported);
    if (list) lists.push(list);
    const agents = exportedAgents(exported);
    const own = exportedTopics(exported);
    for (const topic of own) topics.add(topic);
    if (agents.length === 0 && own.length === 0) withoutAgent.push(join(directory, file));
    for (const agent of agents) {
      const known = found.get(agent.name) ?? [];
      if (!known.some((other) => other.agent === agent)) found.set(agent.name, [...known, { agent, file }]);
    }
  }
  if (found.size === 0) {
    for (const error of broken.values()) throw error;
    throw new Exit(
      EXIT.agents,
      `no file in ${directory} exports an agent`,
      'export one: export const hello = defineAgent({ name: "hello", … })',
    );
  }
  const agents = [...found.values()].flatMap((versions) => inOrder(versions, lists));
  check(agents, [...topics]);
  for (const [file, error] of broken) leaveOut?.(file, error);
  const files = new Map([...found.values()].flat().map(({ agent, file }) => [agent, join(directory, file)]));
  return { agents, topics: [...topics], files, withoutAgent };
}

/** An agent, and the file that exports it first. */
interface FoundAgent {
  readonly agent: Agent;
  readonly file: string;
}

/** Several versions of an agent, the one that takes new requests first: as in an exported list that has them all. */
function inOrder(versions: readonly FoundAgent[], lists: readonly (readonly Agent[])[]): readonly Agent[] {
  const [first, second] = versions;
  const agents = versions.map(({ agent }) => agent);
  if (first === undefined || second === undefined) return agents;
  const list = lists.find((each) => agents.every((agent) => each.includes(agent)));
  if (list) return [...new Set(list)].filter((agent) => agents.includes(agent));
  const { name } = first.agent;
  const where =
    first.file === second.file
      ? `${first.file} defines two agents`
      : `${first.file} and ${second.file} both define an agent`;
  throw new Exit(
    EXIT.agents,
    `${where} "${name}"`,
    "export versions of one agent as a list, the one for new requests first: export default [orderV2, orderV1]",
  );
}

/** Imports a file and returns the agents and tools that it exports. */
export async function loadAgentFile(path: string): Promise<readonly Agent[]> {
  return exportedAgents(await load(path));
}

/** Checks what the runtime would refuse after a restart, for example two uses of one name. */
function check(agents: readonly Agent[], topics: readonly Topic<Messages>[]): AgentDirectory {
  try {
    return new AgentDirectory({ agents, topics });
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(
      EXIT.agents,
      `the agents cannot be served together: ${thrown.message}`,
      thrown.details.hint,
    );
  }
}

async function load(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  } catch (thrown) {
    throw new Exit(EXIT.agents, `${file} cannot be loaded`, toText(thrown));
  }
}

/** A syntax error has its position only in the stack; the frames below it are not useful. */
function toText(thrown: unknown): readonly string[] {
  const lines = toStack(thrown).split("\n");
  return lines.filter((line) => !/^\s+at .*(node:internal|\/cli\/)/.test(line));
}
