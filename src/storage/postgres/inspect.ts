import type { AuditPage, AuditQuery } from "../../ports/audit.ts";
import { createIndexQueries } from "../sql/queries.ts";
import { POSTGRES } from "./dialect.ts";
import { Database } from "./connection/database.ts";
import { toOpenError } from "./connection/open-error.ts";
import { readServerDurability } from "./connection/server.ts";
import { listNodes } from "./node-table.ts";
import type { ListedNode } from "./node-table.ts";
import type { PostgresConnection, PostgresLogOptions } from "./options.ts";
import { canCreate, checkObjects } from "./schema/objects.ts";
import { checkVersion, findVersion, migrate, SCHEMA_VERSION } from "./schema/migrate.ts";
import type { Migrated } from "./schema/migrate.ts";
import { checkListening } from "./wakes/hearing.ts";

/** A database as it is before a log is opened in it. */
export interface InspectedPostgres {
  /** Where it is, without the password. */
  readonly address: string;
  /** The number of its schema; 0 if it has none. */
  readonly schema: number;
  /** The number of the schema that this version of the package needs. */
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
    const schema = await findVersion(database);
    if (schema === SCHEMA_VERSION) await checkObjects(database);
    return {
      address: database.address,
      schema,
      needed: SCHEMA_VERSION,
      canMigrate: await canCreate(database),
      warnings,
    };
  });
}

/** Fails with an explanation if a log in a database would not hear what other nodes change. */
export function checkPostgresListening({
  listenUrl,
  ...connection
}: Pick<PostgresLogOptions, "listenUrl" | keyof PostgresConnection>): Promise<void> {
  return using(connection, (database) => checkListening(database, listenUrl));
}

/** Creates the tables of a log, or brings them to the current version. */
export function migratePostgres(options: PostgresConnection): Promise<Migrated> {
  return using(options, async (database) => {
    await readServerDurability(database);
    return migrate(database);
  });
}

/** The nodes that share the log of a database, with what they own. */
export function listPostgresNodes(options: PostgresConnection): Promise<readonly ListedNode[]> {
  return using(options, async (database) => {
    await readServerDurability(database);
    await checkVersion(database);
    return listNodes(database);
  });
}

/** Lists who did what in the log of a database. */
export function listPostgresAudit(options: PostgresConnection, query: AuditQuery): Promise<AuditPage> {
  const { text, values, toAnswer } = createIndexQueries(POSTGRES).audit(query);
  return using(options, async (database) => {
    await checkVersion(database);
    return toAnswer(await database.ask(text, values));
  });
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
