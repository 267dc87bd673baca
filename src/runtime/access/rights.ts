import { AgentError } from "../../errors.ts";
import type { Principal } from "../../ports/principal.ts";
import { toAllows } from "./authorize.ts";
import type { Action, Allows, Authorize, ActionResource } from "./authorize.ts";

/** What a principal may do with the things that it sees, and beyond them. */
export interface Rights {
  /** The rule of the application for it; absent if there is none. */
  readonly allows?: Allows | undefined;
  /** Throws `forbidden` if the rule of the application does not allow it. */
  permit(action: Action, resource: ActionResource): void;
  /** Throws `forbidden` unless it may see and steer the server; `what` continues the sentence. */
  operate(what: string): void;
  /** Throws `forbidden` unless it may change what concerns all owners. */
  administer(what: string): void;
  /** Throws `forbidden` unless it is the program that made the runtime. */
  own(what: string): void;
}

/** The rights of the program that made the runtime. */
export const ALL_RIGHTS: Rights = { permit() {}, operate() {}, administer() {}, own() {} };

/** What decides about the rights of principals. */
export interface RightsOptions {
  readonly authorize?: Authorize | undefined;
  /** Hears of each refusal. */
  refused(error: AgentError): void;
}

/** The rights of a principal: those of its roles, narrowed by the rule of the application. */
export function rightsOf(principal: Principal, { authorize, refused }: RightsOptions): Rights {
  const { id, owner, roles } = principal;
  const allows = authorize && toAllows(authorize, principal);
  const need = (isAllowed: boolean, what: string, hint: string): void => {
    if (isAllowed) return;
    const error = new AgentError("forbidden", `${id} may not ${what}`, { hint });
    refused(error);
    throw error;
  };
  const permit = (action: Action, resource: ActionResource): void =>
    need(allows?.(action, resource) ?? true, `${action}${toPlace(resource)}`, RULE);
  const needRole = (role: string, isAllowed: boolean, what: string): void =>
    need(isAllowed, what, `it needs the role ${role}`);
  const server = { owner, metadata: {} };
  const isAdmin = roles.includes("admin");
  const isOperator = isAdmin || roles.includes("operator");
  return {
    allows,
    permit,
    operate(what) {
      needRole("operator", isOperator, what);
      need(allows?.("inspect", server) ?? true, what, RULE);
    },
    administer(what) {
      needRole("admin", isAdmin, what);
      need(allows?.("admin", server) ?? true, what, RULE);
    },
    own: (what) => need(false, what, "only the program that made the runtime may"),
  };
}

const RULE = "the rules of this server do not allow it";

function toPlace({ agent, run }: ActionResource): string {
  if (agent === undefined) return "";
  return run === undefined ? ` with the agent ${agent}` : ` with the run ${run} of the agent ${agent}`;
}
