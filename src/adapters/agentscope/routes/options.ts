import type { Dialect } from "../dialect/dialect.ts";

/** Settings of the adapter. */
export interface AgentScopeOptions {
  /** Whether the default agent is also served at the root, where clients look by default. Default true. */
  readonly root?: boolean;
  /** What happens to a request whose session is busy: 409, or it waits for its turn. Default `reject`. */
  readonly busy?: "reject" | "queue";
  /** What happens to a request whose reader disconnects: it continues, or it is canceled. Default `detach`. */
  readonly disconnect?: "detach" | "cancel";
  /**
   * Whether calls of agents are `component_call` messages, which their browser client does not show. Default false: they are
   * `plugin_call` messages, as those of tools.
   */
  readonly components?: boolean;
  /** How answers are written unless the client asks for another way. Default `python`. */
  readonly dialect?: Dialect;
}
