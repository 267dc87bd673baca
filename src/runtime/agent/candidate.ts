import type { AgentVersion } from "../../ports/agent-version.ts";
import type { HoldReason } from "../../protocol/events/outcome-codes.ts";
import type { Agent } from "./agent.ts";

/** Code that may continue an open turn of an agent. */
export interface Candidate extends AgentVersion {
  /** `served` takes new requests, `beside` is another version under the same name, `kept` was served before. */
  readonly from: "served" | "beside" | "kept";
  /** Its agent. One that is kept is loaded then; rejects if that fails. */
  agent(): Agent | Promise<Agent>;
}

/** What is known about the code of agents besides the agents that are served. */
export interface CodeVersions {
  /** The version of a served agent that names none, by its code; `undefined` if its code is not known. */
  versionOf(agent: Agent): string | undefined;

  /** The versions of an agent that were served before and are kept, the newest first. */
  kept(name: string): Promise<readonly Candidate[]>;

  /** Removes the versions that were kept before a time, in milliseconds since 1970, and that are not needed. */
  prune(isNeeded: (agent: string, version: string | undefined) => boolean, keptBefore: number): Promise<void>;
}

/** The code that an open turn did not fit. */
export interface TriedCode {
  readonly agents: readonly Agent[];
  /** Why the turn did not fit the first of it. */
  readonly reason: HoldReason;
}
