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

/** The code that an open turn did not fit. */
export interface TriedCode {
  readonly agents: readonly Agent[];
  /** Why the turn did not fit the first of it. */
  readonly reason: HoldReason;
}
