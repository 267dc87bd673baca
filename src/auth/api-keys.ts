import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { AgentError } from "../errors.ts";
import { bearerOf } from "../http/guards/bearer.ts";
import { isOwner } from "../ports/principal.ts";
import type { Authenticate, Authenticator, Principal } from "../ports/principal.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import { isObject } from "../protocol/json.ts";
import { LruMap } from "../shared/lru-map.ts";
import { API_KEYS as KEYS, API_KEY_USES as USED } from "../runtime/secrets/secret-prefixes.ts";
import { answerKeys } from "./key-routes.ts";
import type { KeyNote } from "./key-routes.ts";

/** What a new key gives. */
export interface NewApiKey {
  /** What the key is for, in a few words. */
  readonly name: string;
  /** Whose things its bearer works with. Default `default`. */
  readonly owner?: string;
  /** Default `user`. */
  readonly roles?: readonly string[];
  /** When it stops working, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number;
}

/** A key without its secret, which the server does not know. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly roles: readonly string[];
  /** In milliseconds since 1970, as are all times of a key. */
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** When it was used last, to the minute; absent if it never was. */
  readonly lastUsedAt?: number;
}

/** Keys for programs, and the check of requests that send one. */
export interface ApiKeys extends Authenticator {
  /** Makes a key. Its text is nowhere else: the store has only a hash of it. */
  create(key: NewApiKey): Promise<{ readonly key: string; readonly info: ApiKey }>;
  /** All keys, also those that no longer work; the newest first. */
  list(): Promise<readonly ApiKey[]>;
  /** Ends a key: at once on this node, within two seconds on others. `not_found` for an unknown id. */
  revoke(id: string): Promise<ApiKey>;
}

/** Options of `apiKeys`. */
export interface ApiKeysOptions {
  /** Milliseconds since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
}

/**
 * Accepts keys that the server has made (`trp_…`), sent as bearer tokens. They are in a secret store, usually that of the log
 * (`log.secrets()`), with a hash in place of their secret. An admin makes, lists and revokes them with `troupe keys`, or at
 * `/keys` of the server.
 */
export function apiKeys(store: SecretStore, { now = Date.now }: ApiKeysOptions = {}): ApiKeys {
  const known = new LruMap<string, Known>(KNOWN_LIMIT);

  /** The record of a key, at most two seconds old. */
  async function find(id: string): Promise<StoredKey | undefined> {
    const before = known.get(id);
    if (before !== undefined && performance.now() - before.readAt < FRESH_MS) return before.record;
    const record = await readKey(store, id);
    // What does not exist is not kept: anyone can think of ids.
    if (record !== undefined) known.set(id, { ...before, record, readAt: performance.now() });
    return record;
  }

  function works({ revokedAt, expiresAt = Infinity }: StoredKey): boolean {
    return revokedAt === undefined && now() < expiresAt;
  }

  /** Notes the use of a key, once a minute. Its own entry: it never overwrites a revocation. */
  function noteUse(id: string): void {
    const entry = known.get(id);
    if (entry === undefined || now() - (entry.notedAt ?? -Infinity) < NOTED_EVERY_MS) return;
    entry.notedAt = now();
    // A store that cannot be written is reported by what needs it; the key still works.
    store.put({ [USED + id]: String(now()) }).catch(() => {});
  }

  const authenticate: Authenticate = async ({ headers }) => {
    const [, id = "", secret = ""] = KEY.exec(bearerOf(headers) ?? "") ?? [];
    if (id === "") return undefined;
    const record = await find(id);
    if (record === undefined || !isEqual(hashOf(secret), record.hash) || !works(record)) return undefined;
    noteUse(id);
    const { name, owner, roles, expiresAt } = record;
    return {
      ...({ id: `key:${id}`, owner, roles, name } satisfies Principal),
      ...(expiresAt !== undefined && { expiresAt }),
      isValid: async () => {
        const newest = await find(id);
        return newest !== undefined && works(newest);
      },
    };
  };

  async function create({ name, owner = "default", roles = ["user"], expiresAt }: NewApiKey, note?: KeyNote) {
    checkKey({ name, owner, roles, expiresAt }, now());
    const id = randomBytes(8).toString("hex");
    const secret = randomBytes(32).toString("base64url");
    const record: StoredKey = {
      hash: hashOf(secret),
      name,
      owner,
      roles: [...roles],
      createdAt: now(),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    const stored = (await store.names()).filter((entry) => entry.startsWith(KEYS)).length;
    if (stored >= KEYS_LIMIT) {
      throw new AgentError("overloaded", `the server has ${KEYS_LIMIT} API keys, and no more`);
    }
    await note?.(toInfo(id, record));
    await store.put({ [KEYS + id]: JSON.stringify(record) });
    return { key: `trp_${id}_${secret}`, info: toInfo(id, record) };
  }

  async function list(): Promise<readonly ApiKey[]> {
    const names = (await store.names()).filter((name) => name.startsWith(KEYS));
    const keys: ApiKey[] = [];
    for (const name of names) {
      const id = name.slice(KEYS.length);
      const [record, used] = await Promise.all([readKey(store, id), store.get(USED + id)]);
      if (record) keys.push(toInfo(id, record, used));
    }
    return keys.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  }

  async function revoke(id: string, note?: KeyNote): Promise<ApiKey> {
    const record = ID.test(id) ? await readKey(store, id) : undefined;
    if (record === undefined) {
      throw new AgentError("not_found", `there is no API key ${JSON.stringify(id.slice(0, 64))}`, {
        hint: "troupe keys list shows the ids",
      });
    }
    if (record.revokedAt === undefined) await note?.(toInfo(id, record));
    const revoked = { ...record, revokedAt: record.revokedAt ?? now() };
    await store.put({ [KEYS + id]: JSON.stringify(revoked) });
    known.set(id, { ...known.get(id), record: revoked, readAt: performance.now() });
    return toInfo(id, revoked, await store.get(USED + id));
  }

  const keys = { create, list, revoke };
  return Object.assign(authenticate, {
    list,
    create: (key: NewApiKey) => create(key),
    revoke: (id: string) => revoke(id),
    roots: ["keys"],
    answer: (...[request, visit]: Parameters<NonNullable<Authenticator["answer"]>>) =>
      answerKeys(keys, request, visit),
  });
}

/** A key in memory. */
interface Known {
  readonly record: StoredKey;
  /** By a monotonic clock. */
  readonly readAt: number;
  notedAt?: number;
}

interface StoredKey extends Omit<ApiKey, "id" | "lastUsedAt"> {
  /** The SHA-256 of the secret. It has 256 random bits, so a slow hash would add nothing. */
  readonly hash: string;
}

const ID = /^[0-9a-f]{16}$/;
const KEY = /^trp_([0-9a-f]{16})_([\w-]{43})$/;
const FRESH_MS = 2_000;
const NOTED_EVERY_MS = 60_000;
const KNOWN_LIMIT = 10_000;
const KEYS_LIMIT = 10_000;

async function readKey(store: SecretStore, id: string): Promise<StoredKey | undefined> {
  const text = await store.get(KEYS + id);
  if (text === undefined) return undefined;
  const record: unknown = JSON.parse(text);
  // Only this file writes it.
  return isObject(record) ? (record as unknown as StoredKey) : undefined;
}

function toInfo(id: string, stored: StoredKey, used?: string): ApiKey {
  const { hash: _, ...record } = stored;
  return { id, ...record, ...(used !== undefined && { lastUsedAt: Number(used) }) };
}

function hashOf(secret: string): string {
  return hash("sha256", secret, "base64url");
}

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

type Unchecked = { readonly [Name in keyof NewApiKey]: unknown };

/** Refuses what no key can have; the values may come from a client. */
function checkKey({ name, owner, roles, expiresAt }: Unchecked, now: number): void {
  const fault =
    typeof name !== "string" || !NAME.test(name)
      ? "its name needs 1 to 128 characters, none of control"
      : !isOwner(owner)
        ? "its owner needs 1 to 128 visible ASCII characters"
        : !isRoles(roles)
          ? "its roles are not 1 to 100 names"
          : expiresAt !== undefined && !(typeof expiresAt === "number" && expiresAt > now)
            ? "it would expire in the past"
            : undefined;
  if (fault !== undefined) throw new AgentError("unprocessable", `the API key is not made: ${fault}`);
}

function isRoles(roles: unknown): boolean {
  return (
    Array.isArray(roles) &&
    roles.length > 0 &&
    roles.length <= 100 &&
    roles.every((role) => typeof role === "string" && /^[\x21-\x7e]{1,64}$/.test(role))
  );
}

const NAME = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]{1,128}$/u;
