import type { Context } from "./context.ts";
import type { Role } from "./roles.ts";

/** What a case cannot do without: an agent, a way to restart the server, or the time for a long one. */
export type Need = Role | "restart" | "thorough";

/** One thing that a server has to do, and how to see that it does. */
export interface Case {
  /** A number, with a letter where several cases belong together. */
  readonly id: string;
  /** A sentence: what happens when. */
  readonly title: string;
  readonly needs: readonly Need[];
  /** Returns when the server did it; throws a Mismatch when it did not. */
  run(context: Context): Promise<void>;
}

/** Cases about the same part of the protocol. */
export interface Theme {
  readonly name: string;
  readonly cases: readonly Case[];
}
