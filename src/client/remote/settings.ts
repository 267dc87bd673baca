import type { RemoteLimits } from "./limits.ts";

/** Settings for the calls of one remote agent. */
export interface RemoteSettings {
  /** The local name of the agent. */
  readonly name: string;
  readonly metadata?: boolean;
  readonly artifactOrigins?: readonly string[];
  readonly limits: RemoteLimits;
}
