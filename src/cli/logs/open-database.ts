import type { PostgresLog } from "../../storage/postgres/postgres-log.ts";
import { toConnection } from "./connection.ts";
import type { PostgresConnection, PostgresLogOptions } from "../../storage/postgres/options.ts";

/** Opens the log in a database, with what the environment says about it. */
export async function openDatabase(
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
