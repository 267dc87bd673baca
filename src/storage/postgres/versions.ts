import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { AgentError } from "../../errors.ts";
import type { KeptVersion, VersionStore } from "../../ports/version-store.ts";
import { parseKeptVersion } from "../shared/kept-version.ts";
import type { Database } from "./connection/database.ts";
import type { KeyUse } from "./secrets.ts";

/**
 * The versions in a database. Nodes run this code, so each version is authenticated under a key that the database never sees: who
 * can only write to the database cannot have a node run anything.
 */
export function versionsIn(database: Database, secretsKeys: readonly string[]): VersionStore {
  const authenticators = secretsKeys.map(toAuthenticator);
  const [authenticate = () => ""] = authenticators;
  const isOurs = (mac: string, content: string): boolean =>
    authenticators.some((authenticated) => isSame(mac, authenticated(content)));

  return {
    async list() {
      const rows = await database.ask<{ content: string; mac: string; at: number }>(
        "SELECT content, mac, kept_at AS at FROM troupe.version ORDER BY kept_at DESC, id",
      );
      return rows.flatMap(({ content, mac, at }): readonly KeptVersion[] => {
        const version = isOurs(mac, content) ? parseKeptVersion(content) : undefined;
        return version === undefined ? [] : [{ ...version, keptAt: at }];
      });
    },
    async keep(version, read) {
      const digests = Object.values(version.files);
      const known = await database.ask<{ digest: string }>(
        "SELECT digest FROM troupe.version_file WHERE digest = ANY ($1)",
        [digests],
      );
      const isKnown = new Set(known.map(({ digest }) => digest));
      const added = new Map<string, Uint8Array>();
      for (const [path, digest] of Object.entries(version.files))
        if (!isKnown.has(digest) && !added.has(digest)) added.set(digest, await read(path));
      // The time is not authenticated: it orders the versions, and is that of the newest start with this one.
      const content = JSON.stringify({ ...version, keptAt: 0 });
      await database.transact(async (transaction) => {
        // A removal of the version's files waits, or has come before.
        await transaction.query(LOCK, [database.schema]);
        for (const [digest, bytes] of added)
          await transaction.query("INSERT INTO troupe.version_file VALUES ($1, $2) ON CONFLICT DO NOTHING", [
            digest,
            bytes,
          ]);
        const [{ files } = { files: 0 }] = await transaction.query<{ files: number }>(
          "SELECT count(*)::int AS files FROM troupe.version_file WHERE digest = ANY ($1)",
          [digests],
        );
        if (files < new Set(digests).size)
          throw new AgentError("unavailable", "files of the version were removed meanwhile", {
            retryAfterS: 1,
          });
        await transaction.query(
          `INSERT INTO troupe.version VALUES ($1, $2, $3, $4)
          ON CONFLICT (id) DO UPDATE SET kept_at = excluded.kept_at, content = excluded.content, mac = excluded.mac`,
          [version.id, version.keptAt, content, authenticate(content)],
        );
      });
    },
    async read(digest) {
      const [row] = await database.ask<{ bytes: Uint8Array }>(
        "SELECT bytes FROM troupe.version_file WHERE digest = $1",
        [digest],
      );
      if (row === undefined) throw new AgentError("unavailable", "a kept file is not there");
      if (hash("sha256", row.bytes) !== digest) throw new AgentError("unavailable", "a kept file is damaged");
      return row.bytes;
    },
    async remove(ids) {
      if (ids.length === 0) return;
      await database.transact(async (transaction) => {
        await transaction.query(LOCK, [database.schema]);
        await transaction.query("DELETE FROM troupe.version WHERE id = ANY ($1)", [ids]);
        const rest = await transaction.query<{ content: string }>("SELECT content FROM troupe.version");
        const used = rest.flatMap(({ content }) => Object.values(parseKeptVersion(content)?.files ?? {}));
        await transaction.query("DELETE FROM troupe.version_file WHERE digest <> ALL ($1)", [used]);
      });
    },
  };
}

/** Authenticates with the first key what another one has authenticated. */
export async function rekeyVersions(
  database: Database,
  secretsKeys: readonly string[],
  { isOnlyCounted = false }: { readonly isOnlyCounted?: boolean },
): Promise<KeyUse> {
  const [authenticate, ...older] = secretsKeys.map(toAuthenticator);
  const use = { first: 0, older: 0, none: 0 };
  if (authenticate === undefined) return use;
  const rows = await database.ask<{ id: string; content: string; mac: string }>(
    "SELECT id, content, mac FROM troupe.version",
  );
  for (const { id, content, mac } of rows) {
    const added = authenticate(content);
    if (isSame(mac, added)) use.first += 1;
    else if (!older.some((authenticated) => isSame(mac, authenticated(content)))) use.none += 1;
    else if (isOnlyCounted) use.older += 1;
    else {
      await database.ask("UPDATE troupe.version SET mac = $3 WHERE id = $1 AND mac = $2", [id, mac, added]);
      use.first += 1;
    }
  }
  return use;
}

function toAuthenticator(secretsKey: string): (content: string) => string {
  const key = hash("sha256", `troupe versions ${secretsKey}`, "buffer");
  return (content) => createHmac("sha256", key).update(content).digest("hex");
}

/** Held by who changes versions, until its transaction ends. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('troupe versions ' || $1, 0))";

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
