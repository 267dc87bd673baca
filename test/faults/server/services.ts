import type { Outside } from "./outside.ts";
import type { Reached } from "./points.ts";

/** The outside services that the agents use. */
export interface OutsideServices {
  readonly outside: Outside;
  readonly reached: Reached;
}
