import type { AuditPage, AuditQuery } from "../../ports/audit.ts";
import type { RunId } from "../../protocol/ids.ts";
import { createIndexQueries } from "../sql/queries.ts";
import { findAgents } from "./audit.ts";
import { POSTGRES } from "./dialect.ts";
import { Database } from "./connection/database.ts";
import { toOpenError } from "./connection/open-error.ts";
import { readServerDurability } from "./connection/server.ts";
import { listMergedAudit } from "./shards/merged.ts";
import { countOwned, listNodes } from "./node-table.ts";
import type { ListedNode } from "./node-table.ts";
import type { PostgresConnection, PostgresLogOptions } from "./options.ts";
import { canCreate, checkObjects } from "./schema/objects.ts";
import { checkVersion, findSchema, migrate, migrateBack, SCHEMA_VERSION } from "./schema/migrate.ts";
import type { Migrated } from "./schema/migrate.ts";
import { rekey } from "./key-rotation.ts";
import { keysOf } from "./secrets.ts";
import type { KeyUse } from "./secrets.ts";
import { checkListening } from "./wakes/hearing.ts";

/** A database as it is before a log is opened in it. */
export interface InspectedPostgres {
  /** Where it is, without the password. */
  readonly address: string;
  /** The number of its schema; 0 if it has none. */
  readonly schema: number;
  /** The number of the schema that this version of the package needs; a newer one is there only if it lets this version write. */
  readonly needed: number;
  /** Whether the role may create tables. */
  readonly canMigrate: boolean;
  /** What can lose acknowledged events, each in a sentence that names the fix. */
  readonly warnings: readonly string[];
}

/** Looks at a database without changing it; fails with an explanation if no log can be opened in it. */
export function inspectPostgres(options: PostgresConnection): Promise<InspectedPostgres> {
  return using(options, async (database) => {
    const { warnings } = await readServerDurability(database);
    const { version: schema } = await findSchema(database);
    if (schema >= SCHEMA_VERSION) await checkObjects(database);
    return {
      address: database.address,
      schema,
      needed: SCHEMA_VERSION,
      canMigrate: await canCreate(database),
      warnings,
    };
  });
}

/** How many of the stored secrets and kept versions of a database with the current schema are under which of some keys. */
export function inspectPostgresKeys(options: PostgresConnection, keys: readonly string[]): Promise<KeyUse> {
  return using(options, (database) => rekey(database, keysOf(keys), { isOnlyCounted: true }));
}

/** Fails with an explanation if a log in a database would not hear what other nodes change. */
export function checkPostgresListening({
  listenUrl,
  ...connection
}: Pick<PostgresLogOptions, "listenUrl" | keyof PostgresConnection>): Promise<void> {
  return using(connection, (database) => checkListening(database, listenUrl));
}

/** Creates the tables of a log, or brings them to the current version, or takes changes back down to an older one. */
export function migratePostgres(
  options: PostgresConnection,
  { to }: { readonly to?: number } = {},
): Promise<Migrated> {
  return using(options, async (database) => {
    await readServerDurability(database);
    return to === undefined ? migrate(database) : migrateBack(database, to);
  });
}

/** The nodes that share the log of some databases, with what they own. */
export async function listPostgresNodes(
  databases: readonly PostgresConnection[],
): Promise<readonly ListedNode[]> {
  const lists = await Promise.all(
    databases.map((options, index) =>
      using(options, async (database) => {
        await readServerDurability(database);
        await checkVersion(database);
        return index === 0 ? { nodes: await listNodes(database) } : { owned: await countOwned(database) };
      }),
    ),
  );
  const owned = lists.flatMap((list) => list.owned ?? []);
  return lists
    .flatMap((list) => list.nodes ?? [])
    .map((node) => {
      const own = owned.filter(({ owner }) => owner === node.node);
      const sum = (of: "open" | "runs"): number => own.reduce((total, one) => total + one[of], node[of]);
      return { ...node, runs: sum("runs"), open: sum("open") };
    });
}

/** Lists who did what in the log of some databases. */
export function listPostgresAudit(
  databases: readonly PostgresConnection[],
  query: AuditQuery,
): Promise<AuditPage> {
  const parts = databases.map((options) => ({
    list: (own: AuditQuery) => {
      const { text, values, toAnswer } = createIndexQueries(POSTGRES).audit(own);
      return using(options, async (database) => {
        await checkVersion(database);
        return toAnswer(await database.ask(text, values));
      });
    },
    agentsOf: (runIds: readonly RunId[]) => using(options, (database) => findAgents(database, runIds)),
  }));
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first.list(query) : listMergedAudit(parts, query);
}

async function using<Result>(
  options: PostgresConnection,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await Database.connect(options);
  try {
    return await work(database);
  } catch (error) {
    throw toOpenError(error, database.address);
  } finally {
    await database.close();
  }
}
