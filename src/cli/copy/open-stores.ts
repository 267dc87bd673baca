import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { inspectPostgres } from "../../storage/postgres/inspect.ts";
import type { PostgresConnection } from "../../storage/postgres/options.ts";
import type { Store } from "../../node/copy/copy-log.ts";
import { sqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import { EXIT, Exit } from "../exit.ts";
import { isDatabase, toConnections, withoutPassword } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { openPostgres, openWithHints, toStore } from "../logs/open-log.ts";

/** An open store. No other process writes its log. */
export interface OpenStore extends Store {
  close(): Promise<void>;
}

/** Refuses places that cannot be copied, before anything is opened. */
export function checkPlaces(from: string, to: string): void {
  for (const [option, place] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (place === "")
      throw new Exit(EXIT.usage, `${option} is empty`, `give a data directory or postgres://…`);
    if (isUrl(place)) toConnections(place, option);
  }
  if (toReal(from) === toReal(to)) {
    throw new Exit(EXIT.refused, "--from and --to are the same log", "name another target with --to");
  }
}

/** Opens a log that exists. */
export async function openSource(from: string): Promise<OpenStore> {
  if (!isUrl(from)) {
    if (!existsSync(join(from, "log.db")))
      throw isMissing(from, "give the directory that a server has as --data");
    return toOpenStore(
      openWithHints(from, { ...HINTS, unusable: "check the directory" }, () => toStore(sqliteLog(from))),
    );
  }
  const connections = toConnections(from, "--from");
  for (const connection of connections) {
    const { schema, address } = await explained(() => inspectPostgres(connection));
    if (schema === 0)
      throw isMissing(address, "correct the address; a log is in the schema troupe of its database");
  }
  return openClosed(connections, { migrate: false });
}

/** Opens a log, or creates it. */
export async function openTarget(to: string): Promise<OpenStore> {
  if (!isUrl(to)) {
    const unusable = "check the directory, or use another one with --to";
    return toOpenStore(openWithHints(to, { ...HINTS, unusable }, () => toStore(sqliteLog(to))));
  }
  return openClosed(toConnections(to, "--to"), {});
}

/** Opens the log in a database that no server has open. */
async function openClosed(
  connections: readonly PostgresConnection[],
  options: { readonly migrate?: boolean },
): Promise<OpenStore> {
  try {
    const log = await explained(() => openPostgres(connections, { ...options, nodes: "one" }), IN_USE);
    return toOpenStore(toStore(log));
  } catch (thrown) {
    if (!(thrown instanceof Exit) || thrown.code !== EXIT.inUse) throw thrown;
    throw new Exit(EXIT.inUse, thrown.message, HINTS.inUse);
  }
}

/** Refuses to copy secrets from or to a database without the key that encrypts them there. */
export async function checkSecretsKey(
  { secrets }: Store,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const { TROUPE_SECRETS_KEY: key = "" } = process.env;
  if (key !== "" || !(isUrl(from) || isUrl(to))) return;
  const { length } = await secrets.names();
  if (length === 0) return;
  throw new Exit(
    EXIT.refused,
    `the source has ${length} secret${length === 1 ? "" : "s"}, and there is no key to ${isUrl(from) ? "read" : "encrypt"} them`,
    isUrl(from)
      ? "set TROUPE_SECRETS_KEY to the key of the nodes of the source"
      : "set TROUPE_SECRETS_KEY to the key of the nodes; make one with `openssl rand -base64 32`",
  );
}

const HINTS = {
  inUse: "stop the server that uses it, then copy",
  damaged: "restore it from a backup",
};

const IN_USE = { conflict: EXIT.inUse } as const;

function isMissing(place: string, hint: string): Exit {
  return new Exit(EXIT.unknown, `there is no log in ${place}`, hint);
}

/** Whether a place is meant as a URL; all others are directories. */
function isUrl(place: string): boolean {
  return isDatabase(place) || /^\w+:\/\//.test(place);
}

function toReal(place: string): string {
  if (isUrl(place)) return place.split(/\s+/).map(withoutPassword).join(" ");
  return existsSync(place) ? realpathSync(place) : resolve(place);
}

function toOpenStore(store: Store): OpenStore {
  return {
    ...store,
    async close() {
      await store.artifacts.close();
      await store.log.close();
    },
  };
}
