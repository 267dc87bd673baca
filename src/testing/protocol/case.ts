import type { Context } from "./context.ts";
import type { AgentRole } from "./roles.ts";

/** A requirement of a case: an agent, a way to restart the server, or time for a slow case. */
export type Need = AgentRole | "restart" | "thorough";

/** One requirement on a server, and its check. */
export interface Case {
  /** A number, with a letter for related cases. */
  readonly id: string;
  /** A sentence about the expected behavior. */
  readonly title: string;
  readonly needs: readonly Need[];
  /** Returns if the server meets the requirement; throws a Mismatch if not. */
  run(context: Context): Promise<void>;
}

/** Cases about the same part of the protocol. */
export interface Theme {
  readonly name: string;
  readonly cases: readonly Case[];
}
