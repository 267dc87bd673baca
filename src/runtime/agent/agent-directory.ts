import { AgentError } from "../../errors.ts";
import type { AgentVersion } from "../../ports/agent-version.ts";
import type { NodeAgent } from "../../ports/node-directory.ts";
import type { ReadinessProbe } from "../../ports/readiness.ts";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { secretNamesIn } from "../secrets/config-secrets.ts";
import type { Agent, Collaborators, Messages, Schema, ToolSource } from "./agent.ts";
import type { Candidate, CodeVersions } from "./candidate.ts";
import { checkAgent } from "./definition/check-definition.ts";
import { checkNotRoute } from "./definition/definition.ts";
import { toDescriptor } from "./definition/describe.ts";
import { TIMER_AGENT, createTimerAgent } from "./definition/timer-agent.ts";
import type { TimerAgent } from "./definition/timer-agent.ts";
import { DeclaredTopics, TOPIC_AGENT, createTopicAgent } from "./topic.ts";
import type { Topic } from "./topic.ts";
import type { RemoteHandler } from "./remote-port.ts";

export interface AgentDirectoryOptions {
  /**
   * The agents and tools to serve. Of several with one name, which differ in `version`, the first takes new requests, and the
   * others continue open turns that do not fit it.
   */
  readonly agents: readonly Agent[];
  /** Replacements for agents that others use, by the name they use. */
  readonly bind?: Collaborators;
  /** Default: the agent named `echo` if there is one, otherwise the first agent, otherwise the first tool. */
  readonly defaultAgent?: string;
  /** The versions of the code of the agents, and older ones that are kept. Default: none are known. */
  readonly versions?: CodeVersions;
  /** The topics whose publications are checked. Default: none. */
  readonly topics?: readonly Topic<Messages>[];
}

/** The agents of a runtime: those it serves by name, the agents each of them uses, and their configurations. */
export class AgentDirectory {
  readonly defaultAgent: string;
  /** The agent that sends requests at a time. */
  readonly timer: TimerAgent = createTimerAgent((name) => this.#agents.get(name));
  /** The agent whose actors are topics. */
  readonly topicAgent: Agent = createTopicAgent();
  /** The topics whose publications are checked. */
  readonly topics: DeclaredTopics;
  readonly #agents = new Map<string, Agent>();
  /** The other versions of agents, by name, in the order in which they were given. */
  readonly #beside = new Map<string, readonly Agent[]>();
  /** The agents as they were given, by what is served of them. */
  readonly #given = new Map<Agent, Agent>();
  /** What is served of the agents of kept versions that were loaded. */
  readonly #loaded = new Map<Agent, Agent>();
  /** Those, and all that they use. */
  readonly #ofLoaded = new Set<Agent>();
  #openSource: ((source: ToolSource) => void) | undefined;
  readonly #versions: CodeVersions | undefined;
  readonly #descriptors = new Map<string, AgentDescriptor>();
  readonly #bindings: Bindings;
  /** The configuration of new runs by agent, with references in place of secret values. */
  readonly #configs = new Map<string, AgentConfig>();

  constructor({ agents: given, bind = {}, defaultAgent, versions, topics = [] }: AgentDirectoryOptions) {
    this.topics = new DeclaredTopics(topics);
    this.#versions = versions;
    const list: unknown = given;
    if (!Array.isArray(list) || list.length === 0)
      throw new AgentError("invalid_request", "a runtime needs a list of at least one agent");
    for (const [index, agent] of given.entries()) checkAgent(agent, `agents[${index}] of the runtime`);
    for (const [name, agent] of Object.entries(bind)) checkAgent(agent, `bind.${name} of the runtime`);
    const agents = given.map((agent) => {
      const served = toServed(agent);
      this.#given.set(served, agent);
      return served;
    });
    this.#bindings = new Bindings(agents, bind);
    for (const agent of agents) {
      const { name } = agent;
      const first = this.#agents.get(name);
      const beside = this.#beside.get(name) ?? [];
      if (first) checkVersion(agent, [first, ...beside]);
      if (first) this.#beside.set(name, [...beside, agent]);
      else this.#agents.set(name, agent);
    }
    const first = (given.find(({ kind }) => kind === "agent") ?? given[0])?.name ?? "";
    this.defaultAgent = defaultAgent ?? (this.#agents.has("echo") ? "echo" : first);
    this.get(this.defaultAgent);
    for (const own of [this.timer as Agent, this.topicAgent]) {
      if (this.#agents.has(own.name))
        throw new AgentError("invalid_request", `${own.name} is the name of an agent of the runtime`);
      this.#agents.set(own.name, own);
    }
  }

  /** The names of the agents that were given; the runtime's own are not among them. */
  get names(): readonly string[] {
    return [...this.#agents.keys()].filter((name) => name !== TIMER_AGENT && name !== TOPIC_AGENT);
  }

  /** The versions of the agents that were given, by name. */
  get served(): Readonly<Record<string, NodeAgent>> {
    const entries = this.names.map((name) => {
      const beside = this.#beside.get(name)?.map((agent) => this.#toVersion(agent));
      return [name, { ...this.#toVersion(this.get(name)), ...(beside && { beside }) }] as const;
    });
    return Object.fromEntries(entries);
  }

  /** The agent that takes new requests. */
  find(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** The code that may continue an open turn of an agent, in the order in which it is tried. */
  async *candidates(name: string): AsyncGenerator<Candidate> {
    const first = this.#agents.get(name);
    if (first) yield this.#toCandidate("served", first);
    for (const agent of this.#beside.get(name) ?? []) yield this.#toCandidate("beside", agent);
    for (const kept of (await this.#versions?.kept(name)) ?? [])
      yield { ...kept, agent: async () => this.#load(await kept.agent()) };
  }

  /** The version under which an agent begins turns. */
  versionOf(agent: Agent): string | undefined {
    return agent.version ?? this.#versions?.versionOf(this.#given.get(agent) ?? agent);
  }

  /** What is known about the code of the agents, if anything is. */
  get versions(): CodeVersions | undefined {
    return this.#versions;
  }

  /** Whether an agent is a version of the served one with its name. Another one may have the same name. */
  isVersion(agent: Agent): boolean {
    const { name } = agent;
    if (this.#agents.get(name) === agent || this.#beside.get(name)?.includes(agent) === true) return true;
    return this.#ofLoaded.has(agent) && this.#agents.has(name);
  }

  /** The agent of a kept version as it is served, the same one each time. */
  #load(agent: Agent): Agent {
    const known = this.#loaded.get(agent);
    if (known) return known;
    const served = toServed(agent);
    this.#loaded.set(agent, served);
    const before = new Set(this.#bindings.sources);
    for (const used of this.#bindings.below(served)) this.#ofLoaded.add(used);
    for (const source of this.#bindings.sources) if (!before.has(source)) this.#openSource?.(source);
    return served;
  }

  #toCandidate(from: Candidate["from"], agent: Agent): Candidate {
    return { ...this.#toVersion(agent), from, agent: () => agent };
  }

  #toVersion(agent: Agent): AgentVersion {
    const version = this.versionOf(agent);
    return { ...(version !== undefined && { version }), compatible: agent.compatible };
  }

  /** The agents that an agent uses, by its own names for them. */
  usesOf(agent: Agent): Collaborators {
    return this.#bindings.usesOf(agent);
  }

  /** The probes that say whether what the agents and their tools depend on is there. */
  get probes(): ReadonlySet<ReadinessProbe> {
    return this.#bindings.probes;
  }

  /** Has the sources of tools opened: those of the agents, and later those of kept versions that are loaded. */
  openSources(open: (source: ToolSource) => void): void {
    this.#openSource = open;
    for (const source of this.#bindings.sources) open(source);
  }

  /** All remote agents that local agents can call, by name. */
  get remote(): ReadonlyMap<string, RemoteHandler> {
    return this.#bindings.remote;
  }

  /** The configuration of an agent's new runs, with references in place of secret values; `undefined` if it has none. */
  configOf(agent: string): JsonObject | undefined {
    return this.#configs.get(agent)?.args;
  }

  /** The names of the secrets that the configurations refer to. */
  get secrets(): readonly string[] {
    return [...this.#configs.values()].flatMap(({ args }) => secretNamesIn(args));
  }

  /**
   * Sets the configuration of an agent's new runs, unless a newer one is set; the answer is the names of the secrets
   * that were replaced.
   */
  configure(agent: string, config: AgentConfig): readonly string[] {
    const before = this.#configs.get(agent);
    if (before && config.version < before.version) return [];
    this.#configs.set(agent, config);
    return before ? secretNamesIn(before.args) : [];
  }

  /** Throws `not_found` with the known names as hint. */
  get(name: string): Agent {
    const agent = this.#agents.get(name);
    if (agent) return agent;
    throw unknownAgent(name, this.names);
  }

  /** Throws `not_found` unless an agent, or a remote one under its name, gets requests here. */
  checkServed(agent: Agent): void {
    const { name } = agent;
    if (this.#agents.has(name) || this.#bindings.remote.has(name)) return;
    throw new AgentError("not_found", `agent ${name} is not served here, so it has no actors`, {
      hint: "add it to the agents of the runtime",
    });
  }

  describe(name: string): AgentDescriptor {
    const known = this.#descriptors.get(name);
    if (known) return known;
    const agent = this.get(name);
    const descriptor = toDescriptor(agent, this.#bindings.usesOf(agent));
    // What is elsewhere may change while this process runs.
    if (!agent.remote && !agent.sources) this.#descriptors.set(name, descriptor);
    return descriptor;
  }
}

/** The refusal of a name that is none of the agents that the caller knows. */
export function unknownAgent(name: string, known: readonly string[]): AgentError {
  return new AgentError("not_found", `there is no agent ${name}`, {
    hint: `the agents here: ${known.join(", ")}`,
  });
}

/** A configuration of an agent, and how often it was changed. */
interface AgentConfig {
  readonly version: number;
  readonly args: JsonObject;
}

/** The agents that each agent uses: its own, or the ones that the runtime binds to the names. */
class Bindings {
  readonly #bind: Collaborators;
  readonly #uses = new Map<Agent, Collaborators>();
  readonly #remote = new Map<string, RemoteHandler>();
  readonly #probes = new Set<ReadinessProbe>();
  readonly #sources = new Set<ToolSource>();

  /**
   * Throws `invalid_request` for a name that no agent uses, and for a replacement that lacks an operation.
   */
  constructor(agents: readonly Agent[], bind: Collaborators) {
    this.#bind = bind;
    for (const agent of agents) this.#visit(agent);
    const used = new Set([...this.#uses.keys()].flatMap(({ uses }) => Object.keys(uses)));
    const unused = Object.keys(bind).filter((name) => !used.has(name));
    if (unused.length > 0)
      throw new AgentError("invalid_request", `bind names ${unused.join(", ")}, but no agent uses it`);
  }

  /** The agents that an agent uses, by its own names for them. */
  usesOf(agent: Agent): Collaborators {
    return this.#uses.get(agent) ?? this.#visit(agent);
  }

  /** All remote agents that local agents can call. */
  get remote(): ReadonlyMap<string, RemoteHandler> {
    return this.#remote;
  }

  /** An agent with all that it can call, and what those can call. */
  below(agent: Agent, found: Set<Agent> = new Set()): ReadonlySet<Agent> {
    if (found.has(agent)) return found;
    found.add(agent);
    for (const other of [...agent.tools, ...Object.values(this.usesOf(agent))]) this.below(other, found);
    return found;
  }

  /** Each probe once: several agents can share it. */
  get probes(): ReadonlySet<ReadinessProbe> {
    return this.#probes;
  }

  /** Each source once: several agents can share it. */
  get sources(): ReadonlySet<ToolSource> {
    return this.#sources;
  }

  #visit(agent: Agent): Collaborators {
    const known = this.#uses.get(agent);
    if (known) return known;
    const entries = Object.entries(agent.uses).map(([name, own]) => [name, this.#bound(agent, name, own)]);
    const uses = Object.fromEntries(entries) as Collaborators;
    this.#uses.set(agent, uses);
    // Of several versions of a remote agent, the first is the one that is served.
    if (agent.remote && !this.#remote.has(agent.name)) this.#remote.set(agent.name, agent.remote);
    if (agent.readiness) this.#probes.add(agent.readiness);
    for (const source of agent.sources ?? []) {
      this.#sources.add(source);
      this.#probes.add(source.readiness);
    }
    for (const other of [...agent.tools, ...Object.values(uses)]) this.#visit(other);
    return uses;
  }

  #bound(agent: Agent, name: string, own: Agent): Agent {
    const bound = Object.hasOwn(this.#bind, name) ? this.#bind[name] : undefined;
    if (bound === undefined) return own;
    const missing = bound.remote ? [] : Object.keys(own.operations).filter((op) => !hasOwn(bound, op));
    if (missing.length === 0 || own.remote) return bound;
    throw new AgentError(
      "invalid_request",
      `agent ${agent.name} uses ${name}, but ${bound.name} has no operation ${missing.join(", ")}`,
    );
  }
}

/** Throws `invalid_request` unless an agent differs in its version from the others with its name. */
function checkVersion({ name, version }: Agent, others: readonly Agent[]): void {
  const same = others.find((other) => other.version === version);
  if (same === undefined) return;
  const fact = version === undefined ? "no version" : `the version ${JSON.stringify(version)}`;
  throw new AgentError("invalid_request", `two agents have the name ${name} and ${fact}`, {
    hint: "give each its own name, or its own version: then the first takes new requests",
  });
}

function hasOwn({ operations }: Agent, name: string): boolean {
  return Object.hasOwn(operations, name);
}

/**
 * An agent as it is served. A tool becomes an agent with one operation that calls it, so that what the tool says
 * belongs to a call, and a crash in the middle of it means what its `effect` says.
 */
function toServed(agent: Agent): Agent {
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

/** A schema that accepts the same values and returns them unchanged, because the tool itself parses them. */
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
