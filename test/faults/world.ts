import type { Outside } from "./outside.ts";
import type { Reached } from "./points.ts";

/** What the agents do things with. */
export interface World {
  readonly outside: Outside;
  readonly reached: Reached;
}
