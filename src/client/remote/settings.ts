import type { RemoteLimits } from "./limits.ts";

/** How calls of one agent elsewhere are made. */
export interface RemoteSettings {
  /** What the agent is called here. */
  readonly name: string;
  readonly metadata?: boolean;
  readonly artifactOrigins?: readonly string[];
  readonly limits: RemoteLimits;
}
