import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { AgentError } from "../../../errors.ts";
import type { PostgresConnection } from "../options.ts";

/**
 * The connection of a service of PostgreSQL's service file, which `postgres://?service=name` or PGSERVICE names;
 * `undefined` if the address is given otherwise. The client library does not read such files.
 */
export function readService({ url, host }: PostgresConnection): PostgresConnection | undefined {
  if (host !== undefined || (url !== undefined && !/^postgres(ql)?:\/\/\/?(\?|$)/.test(url)))
    return undefined;
  const name = findName(url);
  if (name === undefined) return undefined;
  const files = [
    process.env["PGSERVICEFILE"] ?? join(homedir(), ".pg_service.conf"),
    join(process.env["PGSYSCONFDIR"] ?? "/etc", "pg_service.conf"),
  ];
  for (const file of files) {
    const settings = findSection(readIfAny(file), name);
    if (settings !== undefined) return toConnection(settings);
  }
  throw new AgentError(
    "invalid_request",
    `there is no service "${name}" in the service files of PostgreSQL`,
    {
      hint: `add a section [${name}] to ${files[0]}`,
    },
  );
}

function findName(url: string | undefined): string | undefined {
  const [, query = ""] = url?.split("?") ?? [];
  const name = new URLSearchParams(query).get("service") ?? process.env["PGSERVICE"] ?? "";
  return name === "" ? undefined : name;
}

function readIfAny(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The lines of a section, as names and values. */
function findSection(text: string, name: string): ReadonlyMap<string, string> | undefined {
  let found: Map<string, string> | undefined;
  let isInside = false;
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith("[")) {
      isInside = line === `[${name}]`;
      if (isInside) found = new Map();
      continue;
    }
    const [key = "", ...value] = line.split("=");
    if (isInside) found?.set(key.trim(), value.join("=").trim());
  }
  return found;
}

function toConnection(settings: ReadonlyMap<string, string>): PostgresConnection {
  const [host, port, database, user, password, sslmode] = [
    "host",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
  ].map((name) => settings.get(name));
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port: Number(port) }),
    ...(database !== undefined && { database }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(sslmode !== undefined &&
      sslmode !== "disable" && { ssl: { rejectUnauthorized: sslmode.startsWith("verify") } }),
  };
}
