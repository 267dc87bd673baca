import type { RunEntry } from "../../ports/log-entries.ts";
import { DEFAULT_OWNER, seesAll, toBy } from "../../ports/principal.ts";
import type { Principal } from "../../ports/principal.ts";
import type { By } from "../../protocol/actors.ts";

/** Whose things a caller works with. */
export interface Scope {
  /** The owner of what the caller makes, and of the keys and request ids that it names. */
  readonly owner: string;
  /** Whether it also works with the things of all other owners. */
  readonly seesAll: boolean;
  /** Who it is; absent for the program that made the runtime. */
  readonly by?: By | undefined;
  /** Its roles, for questions that have approvers. */
  readonly roles?: readonly string[] | undefined;
  /** Whether it sees a run of those owners; absent if it sees each. What it does not see is as if it did not exist. */
  readonly sees?: ((run: RunEntry) => boolean) | undefined;
}

/** The scope of the program that made the runtime. */
export const TRUSTED: Scope = { owner: DEFAULT_OWNER, seesAll: true };

/** What a principal works with. */
export function toScope(principal: Principal): Scope {
  const { owner, roles } = principal;
  return { owner, seesAll: seesAll(principal), by: toBy(principal), roles };
}

/** Whether a scope, whose owners the log was asked for, sees a run. Of one that was removed there is nothing to see. */
export function seesRun({ sees }: Scope, run: RunEntry): boolean {
  return sees === undefined || run.removed === true || sees(run);
}

/** The owner that the log is asked for; `undefined` for all. */
export function ownerIn({ owner, seesAll: isAll }: Scope): string | undefined {
  return isAll ? undefined : owner;
}
