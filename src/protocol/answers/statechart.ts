/** The chart of an agent that is a state machine. */
export interface Statechart {
  /** Equal for equal charts; StateChanged names it. */
  readonly hash: string;
  readonly root: StatechartNode;
  /** The charts of the machines inside the machine, at any depth. */
  readonly machines?: readonly Omit<Statechart, "machines">[];
}

/** A state of a chart, with the states inside it. */
export interface StatechartNode {
  /** Its path below the root, as `checkout.paying`; empty for the root. */
  readonly id: string;
  readonly type: StateType;
  /** The id of the state that it starts in. */
  readonly initial?: string;
  readonly tags?: readonly string[];
  readonly description?: string;
  readonly states: readonly StatechartNode[];
  readonly edges: readonly StatechartEdge[];
}

/** A transition of a state. */
export interface StatechartEdge {
  /** Named as in StateChanged; absent for an eventless transition. */
  readonly event?: string;
  /** Absent if the machine stays in its states. */
  readonly to?: string;
  readonly guard?: string;
  readonly actions?: readonly string[];
}

export const STATE_TYPES = ["atomic", "compound", "parallel", "final", "history"] as const;

export type StateType = (typeof STATE_TYPES)[number];
