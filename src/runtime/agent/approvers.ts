import { AgentError } from "../../errors.ts";
import { isRole } from "../../ports/principal.ts";
import type { By } from "../../protocol/actors.ts";

/** Who answers a question. The program that made the runtime has no name, and may answer each. */
export interface Answerer {
  readonly by?: By | undefined;
  readonly roles?: readonly string[] | undefined;
}

/** A question and the roles that may answer it; without them everyone may who sees it. */
export interface ApprovedBy {
  readonly waitId: number;
  readonly approvers?: readonly string[];
}

/**
 * Whether somebody may answer a question with these approvers. An admin may, because it can give itself any role, and so may the server
 * of a peer, which has the same question and the same approvers.
 */
export function mayAnswer(approvers: readonly string[] | undefined, { by, roles = [] }: Answerer): boolean {
  if (approvers === undefined || by === undefined) return true;
  if (roles.includes("admin") || roles.includes("peer")) return true;
  return approvers.some((role) => roles.includes(role));
}

/** Throws `not_an_approver` for an answer of somebody who may not give it. */
export function checkApprover({ waitId, approvers = [] }: ApprovedBy, answerer: Answerer): void {
  if (approvers.length === 0 || mayAnswer(approvers, answerer)) return;
  throw notAnApprover(waitId, approvers);
}

/** The refusal of an answer. */
export function notAnApprover(waitId: number, approvers: readonly string[]): AgentError {
  return new AgentError("not_an_approver", `question ${waitId} is for ${approvers.join(" or ")} to answer`, {
    hint: "the question stays open; ask somebody with one of these roles",
    facts: { approvers },
  });
}

/** The roles that code gives, copied and each once. Throws a TypeError for what are none, also for an empty list. */
export function toApprovers(given: readonly string[] | undefined): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const isList = Array.isArray(given) && given.length > 0 && given.length <= LIMIT && given.every(isRole);
  if (!isList)
    throw new TypeError(`approvers must be 1 to ${LIMIT} roles, each of 1 to 64 visible ASCII characters`);
  return [...new Set<string>(given)];
}

const LIMIT = 20;
