import { AgentError } from "../../errors.ts";
import type { Agent, Collaborators } from "./agent.ts";
import type { RemoteHandler } from "./remote-port.ts";

/** The agents that each agent uses: its own, or the ones that the runtime binds to the names. */
export class Bindings {
  readonly #bind: Collaborators;
  readonly #uses = new Map<Agent, Collaborators>();
  readonly #remote = new Map<string, RemoteHandler>();

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

  #visit(agent: Agent): Collaborators {
    const known = this.#uses.get(agent);
    if (known) return known;
    const entries = Object.entries(agent.uses).map(([name, own]) => [name, this.#bound(agent, name, own)]);
    const uses = Object.fromEntries(entries) as Collaborators;
    this.#uses.set(agent, uses);
    if (agent.remote) this.#remote.set(agent.name, agent.remote);
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

function hasOwn({ operations }: Agent, name: string): boolean {
  return Object.hasOwn(operations, name);
}
