import { DEFAULT_OWNER, toOwned } from "../../ports/principal.ts";
import type { SpentKey } from "../../ports/spending.ts";
import type { RequestId } from "../../protocol/ids.ts";

/**
 * Keys that each owner has for itself are stored as one text: with the owner behind a slash, which no id of a request and no
 * name of an agent contains; those of the owner `default` as they are. So the tables of older versions, in which everything
 * belongs to it, have the same keys.
 */
export function toOwnedKey(name: string, owner: string = DEFAULT_OWNER): string {
  return owner === DEFAULT_OWNER ? name : `${name}/${owner}`;
}

/** A stored key: the name, and the owner unless it is `default`. */
export function fromOwnedKey(key: string): { readonly name: string; readonly owner?: string } {
  const end = key.indexOf("/");
  return end === -1 ? { name: key } : { name: key.slice(0, end), ...toOwned(key.slice(end + 1)) };
}

/** The range of the keys that other owners than `default` have for a name. Both ends are outside. */
export function otherOwners(name: string): readonly [after: string, before: string] {
  // The character after the slash.
  return [`${name}/`, `${name}0`];
}

/** The id of a request from its stored key. */
export function fromRequestKey(key: string): RequestId {
  return fromOwnedKey(key).name;
}

/**
 * Whose spending it is as one text: the owner, and behind a space, which neither contains, the agent. So the table of a version in
 * which only owners had budgets has the same keys.
 */
export function toSpender({ owner, agent }: Pick<SpentKey, "owner" | "agent">): string {
  return agent === undefined ? owner : `${owner} ${agent}`;
}

/** A stored spender: the owner, and the agent if it is one. */
export function fromSpender(spender: string): Pick<SpentKey, "owner" | "agent"> {
  const [owner = "", agent] = spender.split(" ");
  return { owner, ...(agent !== undefined && { agent }) };
}

/** The range of the spenders that are agents of an owner. Both ends are outside. */
export function agentsOf(owner: string): readonly [after: string, before: string] {
  // The character after the space.
  return [`${owner} `, `${owner}!`];
}
