import { postgresLog } from "../../cluster/postgres/postgres-log.ts";
import type { PostgresLog } from "../../cluster/postgres/postgres-log.ts";
import type { PostgresConnection, PostgresLogOptions } from "../../cluster/postgres/options.ts";

/** Opens the log in a database, with what the environment says about it. */
export function openDatabase(
  connection: PostgresConnection,
  options: Pick<PostgresLogOptions, "migrate" | "nodes">,
): Promise<PostgresLog> {
  const { TROUPE_SECRETS_KEY: secretsKey = "", TROUPE_LOG_LISTEN: listenUrl = "" } = process.env;
  return postgresLog({
    ...connection,
    ...options,
    ...(secretsKey !== "" && { secretsKey }),
    ...(listenUrl !== "" && { listenUrl }),
  });
}
