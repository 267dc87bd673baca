import type { AgentVersion } from "./agent-version.ts";

/** The table of the nodes that share a log. */
export interface NodeDirectory {
  /**
   * Writes the row of a node with the time of the engine's clock, and returns the rows of all nodes. Removes the forgotten rows,
   * those whose heartbeat is still the newest of their node. The engine removes none by itself, because its clock may be set.
   */
  heartbeat(self: NodePresence, forgotten?: readonly ForgottenRow[]): Promise<readonly NodeRow[]>;

  /** Writes the row of a node as `heartbeat` does, and reads none. Absent if that costs the engine no less. */
  renew?(self: NodePresence): Promise<void>;

  /**
   * How long the engine has given no answer to any statement of this node, in milliseconds; 0 while none waits for one. So a node with
   * work knows that it does not reach the engine, although its heartbeats are rare. Absent if the engine does not tell.
   */
  owedMs?(): number;
}

/** What a node says about itself. */
export interface NodePresence {
  /** The id of the node, as `EventLog.node`. */
  readonly node: string;
  /** Where other nodes send messages to it. */
  readonly url: string;
  /**
   * `joining`: it does not take runs yet. `draining`: it takes no more runs and ends or releases its own. `left`: it has
   * released all its runs and sends no more heartbeats.
   */
  readonly state: "joining" | "active" | "draining" | "left";
  /** The agents that it serves, by name. */
  readonly agents: Readonly<Record<string, NodeAgent>>;
  /** Whether it tells the other nodes which runs are followed on it, and takes wakes of these from them. */
  readonly wakes?: boolean;
  /**
   * `able`: it answers pings of other nodes. `used`: it also sends pings, and its heartbeat is rare, so that others learn from pings
   * whether it lives. Absent for a node that knows heartbeats alone.
   */
  readonly gossip?: "able" | "used";
  /**
   * Whether it passes on what other nodes say about themselves. Where all do, a node that joins or leaves tells only some. Absent
   * for a node of a version before.
   */
  readonly relays?: boolean;
  /** How long after its newest sign of life others may judge it dead, in milliseconds. Absent for 1.5 s. */
  readonly deadAfterMs?: number;
  /** How many runs say texts on it, as of its newest heartbeat. Absent for none. */
  readonly speaking?: number;
}

/** An agent as a node serves it. */
export interface NodeAgent extends AgentVersion {
  /** The other versions that continue open turns. */
  readonly beside?: readonly AgentVersion[];
}

/** A node and the age of its newest heartbeat. */
export interface NodeEntry extends NodePresence {
  /** The time since its newest heartbeat, in milliseconds. */
  readonly ageMs: number;
}

/** A row that is no longer needed. */
export type ForgottenRow = Pick<NodeRow, "heartbeat" | "node">;

/** The row of a node. Its age is by the engine's clock, and wrong for a while after a step of that clock. */
export interface NodeRow extends NodeEntry {
  /** Names the newest heartbeat; each heartbeat of a node has another name. */
  readonly heartbeat: string;
}
