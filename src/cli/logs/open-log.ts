import type { PostgresLog } from "../../storage/postgres/postgres-log.ts";
import { toConnections } from "./connection.ts";
import type { PostgresConnection, PostgresLogOptions } from "../../storage/postgres/options.ts";
import { AgentError } from "../../errors.ts";
import { DamagedLog, DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { EXIT, Exit } from "../exit.ts";
import type { Store } from "../../node/copy/copy-log.ts";
import type { EventLog } from "../../ports/event-log.ts";

/** Opens the log in one or several databases, with what the environment says about it. */
export async function openPostgres(
  connections: readonly PostgresConnection[],
  options: Pick<PostgresLogOptions, "migrate" | "nodes">,
): Promise<PostgresLog> {
  const secretsKey = readSecrets("TROUPE_SECRETS_KEY");
  const databases = connections.map((connection, index) => ({
    ...connection,
    ...toListen(connections, index),
  }));
  // Loaded only here: servers with a data directory do without it.
  if (databases.length > 1) {
    const { shardedPostgresLog } = await import("../../storage/postgres/sharded-log.ts");
    return shardedPostgresLog({ ...options, databases, secretsKey });
  }
  const { postgresLog } = await import("../../storage/postgres/postgres-log.ts");
  return postgresLog({ ...databases[0], ...options, secretsKey });
}

/** The secrets in a variable, which commas separate: the first is used, the others are still known. */
export function readSecrets(name: string): readonly string[] {
  return (process.env[name] ?? "").split(/\s*,\s*/).filter((secret) => secret !== "");
}

/** The address for listening to one of several databases, if the environment has them: as many as there are databases. */
export function toListen(
  { length }: readonly PostgresConnection[],
  index: number,
): Pick<PostgresLogOptions, "listenUrl"> {
  const { TROUPE_LOG_LISTEN: urls = "" } = process.env;
  if (urls === "") return {};
  const addresses = toConnections(urls, "TROUPE_LOG_LISTEN");
  if (addresses.length !== length)
    throw new Exit(
      EXIT.refused,
      `TROUPE_LOG_LISTEN has ${addresses.length} of the ${length} databases of --log`,
      "give one address for each, in the same order",
    );
  const listenUrl = addresses[index]?.url;
  return listenUrl === undefined ? {} : { listenUrl };
}

/** What mends a directory that cannot be opened. */
interface DirectoryHints {
  readonly inUse: string;
  readonly damaged: string;
  readonly unusable: string;
}

/**
 * Opens what a data directory contains: the log, its files and its secrets. Turns an error into an exit with a line that
 * names the fix.
 */
export function openWithHints<Opened>(data: string, hints: DirectoryHints, open: () => Opened): Opened {
  try {
    return open();
  } catch (thrown) {
    if (thrown instanceof DirectoryInUse) {
      throw new Exit(EXIT.inUse, `${data} is in use by another process`, hints.inUse);
    }
    if (thrown instanceof DamagedLog) {
      throw new Exit(EXIT.damaged, `the log in ${data} is damaged: ${thrown.message}`, hints.damaged);
    }
    if (thrown instanceof AgentError) {
      throw new Exit(EXIT.data, thrown.message, thrown.details.hint ?? hints.unusable);
    }
    const { code, path } = thrown as NodeJS.ErrnoException;
    if (code === undefined) throw thrown;
    throw new Exit(EXIT.data, `${path ?? data} cannot be used: ${code}`, hints.unusable);
  }
}

/** A log together with the files and secrets that belong to it. */
export function toStore(log: EventLog & Required<Pick<EventLog, "artifacts" | "secrets">>): Store {
  return { log, artifacts: log.artifacts(), secrets: log.secrets(), versions: log.versions?.() };
}
