import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { Database } from "./connection/database.ts";
import type { PostgresConnection } from "./options.ts";

/**
 * Opens the secrets in the database of a log, whose tables exist: each is encrypted with AES-256-GCM under a key that the
 * database never sees. All nodes have the same key.
 */
export async function postgresSecrets(
  secretsKey: string,
  options: PostgresConnection,
): Promise<SecretStore & { close(): Promise<void> }> {
  const database = await Database.connect(options);
  return { ...secretsIn(database, secretsKey), close: async () => void (await database.close()) };
}

/** The secrets in a database. Without a key they can be neither stored nor read. */
export function secretsIn(database: Database, secretsKey: string | undefined): SecretStore {
  const known = secretsKey === undefined ? undefined : toKey(secretsKey);
  const keyOf = (): Buffer => {
    if (known !== undefined) return known;
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
      return row && decrypt(keyOf(), name, row.value);
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
      const [row] = await database.ask<{ value: Uint8Array }>(
        "SELECT value FROM troupe.secret WHERE name = $1",
        [name],
      );
      if (row === undefined || decrypt(key, name, row.value) !== before) return false;
      // Each encryption of a value differs, so this one is the one that was read.
      const rows = await database.ask<{ name: string }>(
        "UPDATE troupe.secret SET value = $3 WHERE name = $1 AND value = $2 RETURNING name",
        [name, row.value, added],
      );
      return rows.length > 0;
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
      {
        hint: NEW_KEY,
      },
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

function decrypt(key: Buffer, name: string, stored: Uint8Array): string {
  try {
    const nonce = stored.subarray(0, NONCE_BYTES);
    const tag = stored.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name)).setAuthTag(tag);
    return (
      decipher.update(stored.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
    );
  } catch (cause) {
    throw new AgentError("unavailable", "a stored secret does not decrypt: its key was another one", {
      hint: "start this node with the TROUPE_SECRETS_KEY of the other nodes",
      cause,
    });
  }
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
