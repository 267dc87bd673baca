import { AgentError } from "../errors.ts";
import type { NewAuditEntry } from "./audit.ts";
import type { SecretStore } from "./secret-store.ts";
import type { By } from "../protocol/actors.ts";
import type { JsonObject } from "../protocol/json.ts";

/** Who makes a request: a person or a program that an application knows. */
export interface Principal {
  /** Who it is, the same in every request: 1 to 128 characters, for example the subject of a token. */
  readonly id: string;
  /** Whose runs, actors and files it works with: 1 to 128 visible ASCII characters. */
  readonly owner: string;
  /**
   * What it may do. `user` sees and steers the things of its owner; `operator` those of all owners, but no secret; `admin` may
   * also remove, configure and administer. An application adds its own, for example `finance`.
   */
  readonly roles: readonly string[];
  /** A name for people. */
  readonly name?: string;
  /** What else the application knows of it, for its own rules. */
  readonly claims?: JsonObject;
}

/** The owner of everything that no principal has made, and of all that was there before there were owners. */
export const DEFAULT_OWNER = "default";

/** The owner of the actors of agents that say `shared`. No principal has it. */
export const SHARED_OWNER = "shared";

/** Who a server takes a request from when it has no way to tell. */
export const ANONYMOUS: Principal = { id: "anonymous", owner: DEFAULT_OWNER, roles: ["admin"] };

/** Where a request comes from, as the server sees it. */
export interface RequestSource {
  /** The IP address of the other end of the connection; empty if it is not known. A proxy can be there. */
  readonly address: string;
}

/**
 * Finds out who makes a request; `undefined` if it cannot, and the request is then refused. It reads only the headers: the
 * body is for the route. It may throw an AgentError, for example `unauthorized` with the reason.
 */
export type Authenticate = (
  request: Request,
  source: RequestSource,
) => Authenticated | undefined | Promise<Authenticated | undefined>;

/** A principal, and for how long it may be believed without asking again. */
export interface Authenticated extends Principal, Access {}

/**
 * How long a principal has access. A request is checked when it comes; an answer that goes on for longer, such as a stream of
 * events, ends within 5 s when the access has ended.
 */
export interface Access {
  /** When it ends, in milliseconds since 1970. Default: never by itself. */
  readonly expiresAt?: number;
  /** Whether it has not been revoked. Asked every two seconds while a stream is open. */
  isValid?(): boolean | Promise<boolean>;
}

/** A check that also has paths of its own, for example to sign in. Every `Authenticate` is one without. */
export interface Authenticator extends Authenticate {
  /** The first segments of its paths at the root. The server does not start with an agent of such a name. */
  readonly roots?: readonly string[];
  /**
   * Whether browsers may come to a path from another site, by a link for example. It is then only read, by GET. Default: none.
   */
  isVisited?(path: string): boolean;
  /** Where people sign in, below the address of the server. The console then offers it. */
  readonly signIn?: string | undefined;
  /** Gives it the secret store of the server, unless it has been created with one. */
  keepIn?(secrets: SecretStore): void;
  /** Answers a request to a path of its own; `undefined` for other paths, and for a path that needs a principal without one. */
  answer?(request: Request, visit: Visit): Promise<Response | undefined>;
}

/** A request to a path of an `Authenticator`. */
export interface Visit {
  /** The path below the mount of the server. */
  readonly path: string;
  /** What clients put before the path; empty at the root. */
  readonly prefix: string;
  /** Who makes the request, if it is somebody. */
  readonly principal: Principal | undefined;
  /** Adds to the audit trail what is about to be done. Absent without a server that has one. */
  readonly note?: ((entry: Omit<NewAuditEntry, "at">) => Promise<void>) | undefined;
}

/** Whether a value can be a role. */
export function isRole(value: unknown): value is string {
  return typeof value === "string" && ROLE.test(value);
}

/** Whether a value can be the owner of a principal. */
export function isOwner(value: unknown): value is string {
  return typeof value === "string" && OWNER.test(value) && value !== SHARED_OWNER;
}

/**
 * A copy of a principal that code of an application has made, which it cannot change later. Throws `internal`, with the fact
 * for our own logs, if it is not one.
 */
export function checkPrincipal(given: Principal): Principal {
  const { id, owner, roles, name, claims } = given;
  const fault = faultOf(given);
  if (fault !== undefined)
    throw new AgentError("internal", "the server cannot tell who makes the request", {
      cause: new Error(`a principal is not valid: ${fault}`),
    });
  return {
    id,
    owner,
    roles: [...roles],
    ...(name !== undefined && { name }),
    ...(claims !== undefined && { claims: structuredClone(claims) }),
  };
}

/** Whether a principal sees the things of all owners. */
export function seesAll({ roles }: Principal): boolean {
  return roles.includes("operator") || roles.includes("admin");
}

/** How a principal stands with what it causes. */
export function toBy({ id, name }: Principal): By {
  return { id, ...(name !== undefined && { name }) };
}

/** Whose something is; without a mark it belongs to the default owner. */
export function ownerOf({ owner = DEFAULT_OWNER }: { readonly owner?: string | undefined }): string {
  return owner;
}

/** How an owner is marked: the default owner not at all, so that what was there before there were owners is its. */
export function toOwned(owner: string): { readonly owner?: string } {
  return owner === DEFAULT_OWNER ? {} : { owner };
}

/** No control characters: ids and names are shown in logs and terminals. */
const PLAIN = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]{1,128}$/u;
const OWNER = /^[\x21-\x7e]{1,128}$/;
const ROLE = /^[\x21-\x7e]{1,64}$/;
const ROLES_LIMIT = 100;

function faultOf({ id, owner, roles, name }: Principal): string | undefined {
  if (typeof id !== "string" || !PLAIN.test(id)) return "its id needs 1 to 128 characters, none of control";
  if (typeof owner !== "string" || !OWNER.test(owner))
    return "its owner needs 1 to 128 visible ASCII characters";
  if (owner === SHARED_OWNER) return `the owner ${SHARED_OWNER} is that of shared actors`;
  if (!Array.isArray(roles) || roles.length > ROLES_LIMIT)
    return `its roles are not a list of at most ${ROLES_LIMIT}`;
  if (!roles.every(isRole)) return "each of its roles needs 1 to 64 visible ASCII characters";
  if (name !== undefined && (typeof name !== "string" || !PLAIN.test(name)))
    return "its name needs 1 to 128 characters, none of control";
  return undefined;
}
