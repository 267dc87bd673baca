import type { PostgresConnection } from "../../storage/postgres/options.ts";
import { EXIT, Exit } from "../exit.ts";

/** Checks the URL of a database that an option of the command line, or TROUPE_LOG in place of it, gives. */
export function toConnection(url: string, option = "--log"): PostgresConnection & { readonly url: string } {
  const shown = withoutPassword(url);
  if (!isDatabase(url) || !canParse(url)) {
    const use = `use ${option}${option.startsWith("--") ? " " : "="}postgres://user@host:5432/database`;
    throw new Exit(
      EXIT.refused,
      `the log "${shown}" is not the URL of a PostgreSQL database`,
      shown === url ? use : `${use}, and give the password as PGPASSWORD`,
    );
  }
  if (shown !== url && process.argv.some((argument) => argument.includes(url))) {
    const variable =
      option === "--log" ? "set the URL as TROUPE_LOG, or the password as" : "set the password as";
    throw new Exit(
      EXIT.refused,
      `${option} has a password, which every user of this machine can see in the list of processes`,
      `${variable} PGPASSWORD, or in ~/.pgpass`,
    );
  }
  return { url };
}

/** The databases of a log: the URLs that an option of the command line gives, or a variable in place of it, with spaces between them. */
export function toConnections(
  log: string,
  option = "--log",
): readonly [
  PostgresConnection & { readonly url: string },
  ...(PostgresConnection & { readonly url: string })[],
] {
  const [first = "", ...others] = log.trim().split(/\s+/);
  return [toConnection(first, option), ...others.map((url) => toConnection(url, option))];
}

/** Gathers the URLs of an option that is given several times. */
export function addDatabase(url: string, before: string | undefined): string {
  return before === undefined ? url : `${before} ${url}`;
}

/** Whether a text is meant as the URL of a PostgreSQL database. */
export function isDatabase(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** The URL as people may see it. */
export function withoutPassword(url: string): string {
  // A password can have a @ of its own, and the scheme can be missing.
  const user = url.includes("://") ? /(:\/\/[^:@/]*):(?:[^/?#]*|.*?)@/ : /^([^:@/]*):.*@/;
  return url.replace(user, "$1:…@").replaceAll(/([?&]password=)[^&]*/g, "$1…");
}

function canParse(url: string): boolean {
  // A host can be the directory of a socket, or missing.
  return URL.canParse(url) || URL.canParse(url.replace("@/", "@localhost/").replace(":///", "://localhost/"));
}
