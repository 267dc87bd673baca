import { isOwner } from "../ports/principal.ts";
import type { Principal } from "../ports/principal.ts";
import { isObject } from "../protocol/json.ts";
import type { Json, JsonObject } from "../protocol/json.ts";

/** What the claims of a token mean here. A function that returns `undefined` refuses the token. */
export interface IdentityOptions {
  /**
   * The owner: the name of a claim (`"tenant"`), or a function. A token without it is refused. Default: everyone belongs to
   * `default`.
   */
  readonly owner?: string | ((claims: JsonObject) => string | undefined);
  /**
   * The roles: the name of a claim with a list or a text with spaces between them, or a function. A path has dots:
   * `"realm_access.roles"`. Default: `user`.
   */
  readonly roles?: string | ((claims: JsonObject) => readonly string[]);
}

/** The principal of verified claims; `undefined` if they do not name an owner or a user. */
export function toIdentity(claims: JsonObject, { owner, roles }: IdentityOptions): Principal | undefined {
  const id = claims["sub"];
  const found =
    typeof owner === "function" ? owner(claims) : owner === undefined ? "default" : at(claims, owner);
  if (typeof id !== "string" || id === "" || id.length > LONGEST || !isOwner(found)) return undefined;
  const named = [claims["name"], claims["preferred_username"], claims["email"]].find(
    (name) => typeof name === "string" && name !== "",
  );
  return {
    id,
    owner: found,
    roles: rolesOf(claims, roles),
    ...(typeof named === "string" && { name: named.slice(0, LONGEST) }),
    claims,
  };
}

function rolesOf(claims: JsonObject, roles: IdentityOptions["roles"]): readonly string[] {
  if (roles === undefined) return ["user"];
  const found = typeof roles === "function" ? roles(claims) : at(claims, roles);
  const list =
    typeof found === "string" ? found.split(" ") : Array.isArray(found) ? (found as unknown[]) : [];
  return list.filter((role): role is string => typeof role === "string" && role !== "").slice(0, MOST_ROLES);
}

/** The value of a claim; of a claim inside others by a path with dots, unless the claim itself has that name. */
function at(claims: JsonObject, path: string): Json | undefined {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const step of path.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = (value as JsonObject)[step];
  }
  return value as Json;
}

const LONGEST = 128;
const MOST_ROLES = 100;
