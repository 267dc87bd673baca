import type { PostgresLog } from "../../storage/postgres/postgres-log.ts";
import { toConnection } from "./connection.ts";
import type { PostgresConnection, PostgresLogOptions } from "../../storage/postgres/options.ts";
import { AgentError } from "../../errors.ts";
import { DamagedLog, DirectoryInUse } from "../../storage/sqlite/format/errors.ts";
import { EXIT, Exit } from "../exit.ts";
import type { Store } from "../../node/copy/copy-log.ts";
import type { EventLog } from "../../ports/event-log.ts";

/** Opens the log in a database, with what the environment says about it. */
export async function openPostgres(
  connection: PostgresConnection,
  options: Pick<PostgresLogOptions, "migrate" | "nodes">,
): Promise<PostgresLog> {
  // Loaded only here: servers with a data directory do without it.
  const { postgresLog } = await import("../../storage/postgres/postgres-log.ts");
  const { TROUPE_SECRETS_KEY: secretsKey = "" } = process.env;
  return postgresLog({
    ...connection,
    ...options,
    ...(secretsKey !== "" && { secretsKey }),
    ...toListen(),
  });
}

/** The address for listening, if the environment has one. */
export function toListen(): Pick<PostgresLogOptions, "listenUrl"> {
  const { TROUPE_LOG_LISTEN: url = "" } = process.env;
  return url === "" ? {} : { listenUrl: toConnection(url, "TROUPE_LOG_LISTEN").url };
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
