/** The table of the nodes that share a log. */
export interface NodeDirectory {
  /**
   * Writes the row of a node with the time of the engine's clock, and returns the rows of all nodes. The engine removes
   * rows without a beat for an hour.
   */
  beat(self: NodePresence): Promise<readonly NodeRow[]>;
}

/** What a node says about itself. */
export interface NodePresence {
  /** The id of the node, as `EventLog.node`. */
  readonly node: string;
  /** Where other nodes send messages to it. */
  readonly url: string;
  /**
   * `joining`: it does not take runs yet. `draining`: it takes no more runs and ends or releases its own. `left`: it has
   * released all its runs and sends no more beats.
   */
  readonly state: "joining" | "active" | "draining" | "left";
  /** The agents that it serves, by name. */
  readonly agents: Readonly<Record<string, NodeAgent>>;
}

/** An agent as a node serves it. */
export interface NodeAgent {
  readonly version?: string;
  /** The older versions whose turns it can continue. */
  readonly compatible?: readonly string[];
}

/** A node and the age of its newest beat. */
export interface NodeEntry extends NodePresence {
  /** The time since its newest beat, in milliseconds. */
  readonly ageMs: number;
}

/** The row of a node. Its age is by the engine's clock, and wrong for a while after a step of that clock. */
export interface NodeRow extends NodeEntry {
  /** Names the newest beat; each beat of a node has another name. */
  readonly beat: string;
}
