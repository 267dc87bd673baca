import { AgentError } from "../../errors.ts";
import { SHARED_OWNER, ownerOf } from "../../ports/principal.ts";
import type { Scope } from "../access/scope.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import type { Agent } from "../agent/agent.ts";
import { WATCH } from "../agent/watchers.ts";
import type { AcceptedRequest } from "../journal/records.ts";

/** The owner of the actors that a client names by keys. Throws `forbidden` for those of a shared agent, unless it sees all owners. */
export function ownerOfKeys(agents: AgentDirectory, agent: string, { owner, seesAll }: Scope): string {
  if (agents.find(agent)?.shared !== true) return owner;
  if (seesAll) return SHARED_OWNER;
  throw new AgentError("forbidden", `the actors of agent ${agent} are shared by all owners`, {
    hint: "ask them from an agent, or as an operator; a request without a key has a run of its own",
  });
}

/** The request of an actor as the other one gets it: that of a shared agent belongs to all owners, and so does what it is asked. */
export function toOwnerOf(agent: Agent | undefined, accepted: AcceptedRequest): AcceptedRequest {
  if (agent?.shared !== true || ownerOf(accepted) === SHARED_OWNER) return accepted;
  const { request } = accepted;
  if (request.type === "OperationRequest" && request.operation === WATCH)
    throw new AgentError(
      "forbidden",
      `the actors of agent ${agent.name} are shared, and cannot be watched by others`,
      {
        hint: "have the shared actor tell those who want to know",
      },
    );
  return { ...accepted, owner: SHARED_OWNER };
}
