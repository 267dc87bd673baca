import { readOne } from "../runtime/replay/beginning.ts";
import { isFor, mayContinue } from "../ports/agent-version.ts";
import { ownerOf } from "../ports/principal.ts";
import type { AgentVersion } from "../ports/agent-version.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { RunEntry } from "../ports/log-entries.ts";
import type { Member } from "../ports/router.ts";
import type { Event } from "../protocol/events/events.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Heartbeat } from "./heartbeat.ts";

/** Decides which node a run or a task belongs to. */
export class Placement {
  readonly #log: EventLog;
  readonly #nodes: Heartbeat;

  constructor(log: EventLog, nodes: Heartbeat) {
    this.#log = log;
    this.#nodes = nodes;
  }

  /** Whether this node is picked for a task. It does none while it does not know which nodes live. */
  leads(task: string): boolean {
    if (this.#nodes.view !== "steady") return false;
    const names = this.#nodes.takers.map(({ node }) => node);
    return pickFor(task, names) === this.#nodes.self.node;
  }

  /**
   * The node to send a message to: the living owner; this node for a run without an owner, if it can have the run; else
   * the picked node. `undefined` if no node takes runs. The log has nothing of a new run.
   */
  async locate(
    runId: RunId,
    { isNew = false }: { readonly isNew?: boolean } = {},
  ): Promise<string | undefined> {
    const run = isNew ? undefined : await this.#log.run(runId);
    const { node: self } = this.#nodes.self;
    const { node } = run ?? {};
    if (node !== undefined && (node === self || !this.#isDead(node))) return node;
    const candidates = await this.#candidates(run);
    if (node === undefined && candidates.some(({ isSelf }) => isSelf)) return self;
    return pickFor(
      runId,
      candidates.map((candidate) => candidate.node),
    );
  }

  /** The owner of a run in the log, alive or not. */
  async ownerOf(runId: RunId): Promise<string | undefined> {
    return (await this.#log.run(runId))?.node;
  }

  /** The living owner of a run, if that is another node. */
  async otherOwner(runId: RunId): Promise<string | undefined> {
    const owner = await this.ownerOf(runId);
    if (owner === undefined || owner === this.#nodes.self.node) return undefined;
    return this.#isDead(owner) ? undefined : owner;
  }

  /** Whether this node is to continue a run: it owns the run, or is picked for one without a living owner. */
  async isMine(runId: RunId): Promise<boolean> {
    const run = await this.#log.run(runId);
    const { node: self } = this.#nodes.self;
    const { node } = run ?? {};
    if (node === self) return true;
    if (node !== undefined && !this.#isDead(node)) return false;
    const candidates = await this.#candidates(run);
    return (
      pickFor(
        runId,
        candidates.map((candidate) => candidate.node),
      ) === self
    );
  }

  #isDead(node: string): boolean {
    return this.#nodes.livenessOf(node) === "dead";
  }

  /**
   * The nodes that can have a run: those with a version for its turn, else those with one that may continue it, else those with
   * its agent, else all. Where none may continue it, it is held.
   */
  async #candidates(run: RunEntry | undefined): Promise<readonly Member[]> {
    const { takers } = this.#nodes;
    if (run === undefined) return takers;
    const serving = takers.filter(({ agents }) => Object.hasOwn(agents, run.agent));
    if (serving.length === 0) return takers;
    if (run.started === undefined || areAlike(serving, run.agent)) return serving;
    const version = await this.#versionOf(run);
    const having = (fits: (own: AgentVersion) => boolean): readonly Member[] =>
      serving.filter((member) => versionsOf(member, run.agent).some(fits));
    const sure = having((own) => isFor(own, version));
    if (sure.length > 0) return sure;
    const able = having((own) => mayContinue(own, version));
    return able.length === 0 ? serving : able;
  }

  /** The version of the agent that started the open turn of a run. */
  async #versionOf({ runId, owner, started, lastTurn }: RunEntry): Promise<string | undefined> {
    if (lastTurn?.agent_version !== undefined) return lastTurn.agent_version;
    const { started: id } = (started && (await this.#log.lookup(started, ownerOf({ owner })))) ?? {};
    if (id === undefined) return undefined;
    const text = await readOne(this.#log, runId, id);
    const event = text === undefined ? undefined : (JSON.parse(text) as Event);
    return event?.type === "RequestStarted" ? event.agent_version : undefined;
  }
}

/** Whether all nodes have the same versions of an agent. */
function areAlike(members: readonly Member[], agent: string): boolean {
  const lists = members.map((member) => versionsOf(member, agent).map(({ version }) => version));
  const [first = []] = lists;
  return lists.every((list) => list.length === first.length && list.every((own, at) => own === first[at]));
}

/** The versions of an agent that a node has. */
function versionsOf({ agents }: Member, name: string): readonly AgentVersion[] {
  const agent = agents[name];
  return agent === undefined ? [] : [agent, ...(agent.beside ?? [])];
}

/**
 * The one of several names that a key belongs to. All nodes with the same names agree; when a name goes, only its own
 * keys move.
 */
export function pickFor(key: string, names: Iterable<string>): string | undefined {
  let picked: string | undefined;
  let most = -1;
  for (const name of names) {
    const weight = hash(`${name} ${key}`);
    if (weight < most || (weight === most && picked !== undefined && name > picked)) continue;
    picked = name;
    most = weight;
  }
  return picked;
}

/** A hash of 32 bits: FNV-1a with the last step of MurmurHash3, so that similar texts have unlike hashes. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value ^= value >>> 16;
  value = Math.imul(value, 0x85ebca6b);
  value ^= value >>> 13;
  value = Math.imul(value, 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
