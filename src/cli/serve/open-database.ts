import { AgentError } from "../../errors.ts";
import type { PostgresConnection } from "../../cluster/postgres/options.ts";
import { postgresLog } from "../../cluster/postgres/postgres-log.ts";
import type { PostgresLog } from "../../cluster/postgres/postgres-log.ts";
import { EXIT, Exit } from "../exit.ts";
import type { ServerOptions } from "./server-options.ts";

/** Opens the log in the database of a server. */
export async function openDatabase(
  url: string,
  { single, cluster, durability }: ServerOptions,
): Promise<PostgresLog> {
  if (durability === "relaxed") {
    throw new Exit(
      EXIT.refused,
      "--durability is for a data directory; for a database its setting synchronous_commit decides",
      "leave --durability out",
    );
  }
  const connection = toConnection(url);
  const [secretsKey, listenUrl] = ["TROUPE_SECRETS_KEY", "TROUPE_LOG_LISTEN"].map(
    (name) => process.env[name] ?? "",
  );
  return explained(() =>
    postgresLog({
      ...connection,
      nodes: single ? "any" : cluster === undefined ? "one" : "several",
      ...(secretsKey && { secretsKey }),
      ...(listenUrl && { listenUrl }),
    }),
  );
}

/** Checks the URL of a database that the command line or TROUPE_LOG gives. */
export function toConnection(url: string): PostgresConnection {
  const shown = withoutPassword(url);
  if (!/^postgres(ql)?:\/\//.test(url) || !canParse(url)) {
    throw new Exit(
      EXIT.refused,
      `the log "${shown}" is not the URL of a PostgreSQL database`,
      "use --log postgres://user@host:5432/database",
    );
  }
  if (shown !== url && process.argv.some((argument) => argument.includes(url))) {
    throw new Exit(
      EXIT.refused,
      "--log has a password, which every user of this machine can see in the list of processes",
      "set the URL as TROUPE_LOG, or the password as PGPASSWORD",
    );
  }
  return { url };
}

/** The URL as people may see it. */
export function withoutPassword(url: string): string {
  // A password can have a @ of its own, and the scheme can be missing.
  const user = url.includes("://") ? /(:\/\/[^:@/]*):(?:[^/?#]*|.*?)@/ : /^([^:@/]*):.*@/;
  return url.replace(user, "$1:…@").replaceAll(/([?&]password=)[^&]*/g, "$1…");
}

/** Turns what a database refuses into an exit with a line that names the fix. */
export async function explained<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    const { code, message, details } = thrown;
    throw new Exit(code === "unavailable" ? EXIT.unavailable : EXIT.refused, message, details.hint);
  }
}

function canParse(url: string): boolean {
  // A host can be the directory of a socket, or missing.
  return URL.canParse(url) || URL.canParse(url.replace("@/", "@localhost/").replace(":///", "://localhost/"));
}
