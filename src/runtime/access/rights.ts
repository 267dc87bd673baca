import { AgentError } from "../../errors.ts";
import type { Principal } from "../../ports/principal.ts";

/** What a principal may do beyond working with the things that it sees. */
export interface Rights {
  /** Throws `forbidden` unless it may see and steer the server; `what` continues the sentence. */
  operate(what: string): void;
  /** Throws `forbidden` unless it may change what concerns all owners. */
  administer(what: string): void;
  /** Throws `forbidden` unless it is the program that made the runtime. */
  own(what: string): void;
}

/** The rights of the program that made the runtime. */
export const ALL_RIGHTS: Rights = { operate() {}, administer() {}, own() {} };

/** The rights of a principal, by its roles. `refused` hears of each refusal. */
export function rightsOf({ id, roles }: Principal, refused: (error: AgentError) => void): Rights {
  const need = (role: string, allowed: boolean, what: string): void => {
    if (allowed) return;
    const error = new AgentError("forbidden", `${id} may not ${what}`, { hint: `it needs the role ${role}` });
    refused(error);
    throw error;
  };
  const isAdmin = roles.includes("admin");
  const isOperator = isAdmin || roles.includes("operator");
  return {
    operate: (what) => need("operator", isOperator, what),
    administer: (what) => need("admin", isAdmin, what),
    own(what) {
      throw new AgentError("forbidden", `${id} may not ${what}`, {
        hint: "only the program that made the runtime may",
      });
    },
  };
}
