import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { Database } from "./connection/database.ts";
import type { PostgresConnection } from "./options.ts";

/** How many of the stored secrets and versions are under which of some keys. */
export interface KeyUse {
  /** Under the first key, which all new ones get. */
  readonly first: number;
  readonly older: number;
  readonly none: number;
}

/**
 * Opens the secrets in the database of a log, whose tables exist: each is encrypted with AES-256-GCM under a key that the
 * database never sees. All nodes have the same key.
 */
export async function postgresSecrets(
  secretsKey: string | readonly string[],
  options: PostgresConnection,
): Promise<SecretStore & { close(): Promise<void> }> {
  const database = await Database.connect(options);
  return { ...secretsIn(database, keysOf(secretsKey)), close: async () => void (await database.close()) };
}

/** The secrets in a database: the first key encrypts, each decrypts. Without a key they can be neither stored nor read. */
export function secretsIn(database: Database, secretsKeys: readonly string[]): SecretStore {
  const keys = secretsKeys.map(toKey);
  const keyOf = (): Buffer => {
    const [first] = keys;
    if (first !== undefined) return first;
    throw new AgentError("unavailable", "secret values need a key, and this server has none", {
      hint: NEW_KEY,
    });
  };
  return {
    async get(name) {
      const [row] = await database.ask<{ value: Uint8Array }>(
        "SELECT value FROM troupe.secret WHERE name = $1",
        [name],
      );
      if (row === undefined) return undefined;
      keyOf();
      return decryptWithAny(keys, name, row.value);
    },
    async put(values) {
      const key = keyOf();
      await database.transact(async (transaction) => {
        // In one order, so that two that store the same names follow one another.
        for (const [name, value] of Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          await transaction.query(
            "INSERT INTO troupe.secret VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [name, encrypt(key, name, value)],
          );
        }
      });
    },
    async replace(name, before, value) {
      const key = keyOf();
      const added = encrypt(key, name, value);
      if (before === undefined) {
        const rows = await database.ask<{ name: string }>(
          "INSERT INTO troupe.secret VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING name",
          [name, added],
        );
        return rows.length > 0;
      }
      for (;;) {
        const [row] = await database.ask<{ value: Uint8Array }>(
          "SELECT value FROM troupe.secret WHERE name = $1",
          [name],
        );
        if (row === undefined || decryptWithAny(keys, name, row.value) !== before) return false;
        // Each encryption of a value differs, so this one is the one that was read, or another key has encrypted it meanwhile.
        const rows = await database.ask<{ name: string }>(
          "UPDATE troupe.secret SET value = $3 WHERE name = $1 AND value = $2 RETURNING name",
          [name, row.value, added],
        );
        if (rows.length > 0) return true;
      }
    },
    async names() {
      return (await database.ask<{ name: string }>("SELECT name FROM troupe.secret ORDER BY name")).map(
        ({ name }) => name,
      );
    },
    async remove(names) {
      await database.ask("DELETE FROM troupe.secret WHERE name = ANY ($1)", [names]);
    },
  };
}

/** The keys of a database in the order of their use; refuses one that is there twice. */
export function keysOf(secretsKey: string | readonly string[] | undefined): readonly string[] {
  const keys = typeof secretsKey === "string" ? [secretsKey] : (secretsKey ?? []);
  if (new Set(keys).size < keys.length)
    throw new AgentError("invalid_request", "two keys of the secrets are the same", {
      hint: "name the new key first, then the earlier one",
    });
  return keys;
}

/** What is wrong with the keys, and what mends it; `undefined` if they open everything. */
export function toKeyTrouble({ none }: KeyUse, keys: number): string | undefined {
  if (none === 0) return undefined;
  const stored =
    none === 1 ? "1 stored secret or kept version is" : `${none} stored secrets or kept versions are`;
  const which = keys === 1 ? "the key" : "any of the keys";
  return `${stored} not readable with ${which} of this node; add the earlier key behind the others in TROUPE_SECRETS_KEY`;
}

/** What is so when nothing is under an older key any more, and what it allows. */
export const MOVED = "all are under the first key";
export const DROP = "when each node has started with it as the first one, drop the others";

/** Encrypts with the first key what is stored under another one. */
export async function rekeySecrets(
  database: Database,
  secretsKeys: readonly string[],
  { isOnlyCounted = false, signal }: { readonly isOnlyCounted?: boolean; readonly signal?: AbortSignal },
): Promise<KeyUse> {
  const [key, ...older] = secretsKeys.map(toKey);
  const use = { first: 0, older: 0, none: 0 };
  for (let after = ""; signal?.aborted !== true;) {
    const rows = await database.ask<{ name: string; value: Uint8Array }>(
      "SELECT name, value FROM troupe.secret WHERE name > $1 ORDER BY name LIMIT $2",
      [after, PAGE],
    );
    for (const { name, value } of rows) {
      after = name;
      if (key !== undefined && decrypt(key, name, value) !== undefined) {
        use.first += 1;
        continue;
      }
      const text = older.map((one) => decrypt(one, name, value)).find((read) => read !== undefined);
      if (key === undefined || text === undefined) use.none += 1;
      else if (isOnlyCounted) use.older += 1;
      else {
        // One that has been replaced meanwhile stays as it is.
        await database.ask("UPDATE troupe.secret SET value = $3 WHERE name = $1 AND value = $2", [
          name,
          value,
          encrypt(key, name, text),
        ]);
        use.first += 1;
      }
    }
    if (rows.length < PAGE) break;
  }
  return use;
}

const PAGE = 100;

/** Refuses a key that is not the one of the stored secrets. */
export async function checkKey(secrets: SecretStore): Promise<void> {
  const [name] = await secrets.names();
  if (name === undefined) return;
  await secrets.get(name).catch((error: unknown) => {
    if (!(error instanceof AgentError)) throw error;
    throw new AgentError("invalid_request", error.message, error.details);
  });
}

/** A key of 32 bytes from a text of any form. */
function toKey(text: string): Buffer {
  if (text.length < KEY_CHARACTERS) {
    throw new AgentError(
      "invalid_request",
      `the key of the secrets has fewer than ${KEY_CHARACTERS} characters`,
      { hint: NEW_KEY },
    );
  }
  return hash("sha256", `troupe secrets ${text}`, "buffer");
}

const KEY_CHARACTERS = 32;
const NEW_KEY = "make one with `openssl rand -base64 32` and give it to all nodes as TROUPE_SECRETS_KEY";

/** The name is part of what is authenticated: a value that is moved to another name does not decrypt. */
function encrypt(key: Buffer, name: string, value: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const bytes = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), bytes]);
}

function decryptWithAny(keys: readonly Buffer[], name: string, stored: Uint8Array): string {
  for (const key of keys) {
    const value = decrypt(key, name, stored);
    if (value !== undefined) return value;
  }
  throw new AgentError("unavailable", "a stored secret does not decrypt: its key was another one", {
    hint: "start this node with the TROUPE_SECRETS_KEY of the other nodes; after a rotation, name the earlier key behind the new one",
  });
}

/** The value; `undefined` if it was encrypted with another key. */
function decrypt(key: Buffer, name: string, stored: Uint8Array): string | undefined {
  try {
    const nonce = stored.subarray(0, NONCE_BYTES);
    const tag = stored.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name)).setAuthTag(tag);
    return (
      decipher.update(stored.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
    );
  } catch {
    return undefined;
  }
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
