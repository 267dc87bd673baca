import * as z from "zod";
import { jsonObject } from "../fields.ts";
import type { Shape } from "../fields.ts";

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

const STATE_TYPES = ["atomic", "compound", "parallel", "final", "history"] as const;

export type StateType = (typeof STATE_TYPES)[number];

const text = z.string();

const edge = z.object({
  event: text.exactOptional().describe("As in StateChanged; absent for an eventless transition."),
  to: text.exactOptional().describe("Absent if the machine stays in its states."),
  guard: text.exactOptional(),
  actions: z.array(text).exactOptional(),
} satisfies Shape<StatechartEdge>);

const state = z.object({
  id: text.describe("Its path below the root, as `checkout.paying`; empty for the root."),
  type: z.enum(STATE_TYPES),
  initial: text.exactOptional().describe("The id of the state that it starts in."),
  tags: z.array(text).exactOptional(),
  description: text.exactOptional(),
  states: (z.array(jsonObject) as unknown as z.ZodType<StatechartNode["states"]>).describe(
    "The states inside it, in the same form.",
  ),
  edges: z.array(edge),
} satisfies Shape<StatechartNode>);

const chartFields = { hash: text.describe("StateChanged has it as `chart`."), root: state };

/** @internal The schema of a chart. */
export const statechart: z.ZodType<Statechart> = z.object({
  ...chartFields,
  machines: z
    .array(z.object(chartFields))
    .exactOptional()
    .describe("The charts of the machines inside the machine, at any depth."),
} satisfies Shape<Statechart>);
